// Helpers of plain ops.
#pragma once
#include "quern/plain/ops.h"
#include "quern/plain/weight.h"

namespace quern::plain {

inline const float* weight(const OpView& op, int index, int rank) {
  op.need(op.operand(index).rank == rank, "a weight has the wrong rank");
  return static_cast<const PlainWeight&>(*op.operand(index).weight).data();
}

// A weight [length]; null if absent.
inline const float* vector(const OpView& op, int index, int64_t length) {
  if (!op.present(index)) return nullptr;
  const float* const data = weight(op, index, 1);
  op.need(op.operand(index).count == length, "a vector has the wrong length");
  return data;
}

// y = f(x), elementwise.
template <class F>
void map(const OpView& op, int x, int y, const F& f) {
  const Floats from = op.floats(x), to = op.floats(y);
  op.need(from.same_shape(to), "y must have the shape of x");
  for (int64_t i = 0; i < from.count; i++) to.data[i] = static_cast<float>(f(from.data[i]));
}

// y = f(gate, up), elementwise; equal shapes.
template <class F>
void map2(const OpView& op, const F& f) {
  const Floats gate = op.floats(0), up = op.floats(1), y = op.floats(2);
  op.need(gate.same_shape(up) && gate.same_shape(y), "the shapes differ");
  for (int64_t i = 0; i < y.count; i++) y.data[i] = static_cast<float>(f(gate.data[i], up.data[i]));
}

// y = f(a, b). b has the shape of a, or is one row for all rows of a.
template <class F>
void combine(const OpView& op, const F& f) {
  const Floats a = op.floats(0), b = op.floats(1), y = op.floats(2);
  op.need(a.same_shape(y), "y must have the shape of a");
  op.need(a.same_shape(b) || (b.rank == 1 && b.width() == a.width()), "b must have the shape of a, or of its rows");
  for (int64_t i = 0; i < a.count; i++) y.data[i] = f(a.data[i], b.data[i % b.count]);
}

double gelu_erf(double x);
double gelu_tanh(double x);
double silu_of(double x);

// y [N] = w [N, K] · x [K] + bias.
void product(const float* x, const float* w, const float* bias, int64_t N, int64_t K, float* y);

} // namespace quern::plain
