// Ops that treat every element alike.
#include <cmath>

#include "ops/gelu.h"
#include "runtime/call.h"

namespace quern {

namespace {

using Binary = void (*)(const float* a, const float* b, float* y, int64_t n);
using Unary = void (*)(const float* x, float* y, int64_t n);

// An exponential costs about as much as this many additions.
constexpr int64_t plain_cost = 1, exponential_cost = 8;

void map(Call& call, Unary kernel, int x_index, int y_index) {
  const Floats x = call.floats(x_index), y = call.floats(y_index);
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.count, exponential_cost,
             [&](int64_t first, int64_t end, int) { kernel(x.data + first, y.data + first, end - first); });
}

void zip(Call& call, Binary kernel, int64_t cost, const Floats& a, const Floats& b, const Floats& y) {
  call.need(a.count == b.count && a.count == y.count, "operands must share a shape");
  call.split(a.count, cost, [&](int64_t first, int64_t end, int) {
    kernel(a.data + first, b.data + first, y.data + first, end - first);
  });
}

// b has a's shape, or is one row for all.
void zip_rows(Call& call, Binary kernel, const Floats& a, const Floats& b, const Floats& y) {
  if (b.count == a.count) return zip(call, kernel, plain_cost, a, b, y);
  call.need(b.count == a.width() && y.same_shape(a), "b must have a's shape or be one row, and y must have a's shape");
  call.split(a.rows(), a.width(), [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) kernel(a.row(row), b.data, y.row(row), a.width());
  });
}

} // namespace

void AddOp::run(Call& call) { zip_rows(call, call.kernels.add, call.floats(A), call.floats(B), call.floats(Y)); }

void MulOp::run(Call& call) { zip_rows(call, call.kernels.mul, call.floats(A), call.floats(B), call.floats(Y)); }

void ScaleOp::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y);
  const float factor = call.number(FACTOR);
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.count, plain_cost, [&](int64_t first, int64_t end, int) {
    call.kernels.scale(x.data + first, factor, y.data + first, end - first);
  });
}

void Log10Op::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y);
  const float floor = call.number(FLOOR);
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.count, exponential_cost, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) y.data[i] = std::log10(x.data[i] < floor ? floor : x.data[i]); // NaN stays
  });
}

void SiluOp::run(Call& call) { map(call, call.kernels.silu, X, Y); }

void GeluOp::run(Call& call) { map(call, gelu_kernel(call.kernels, call.integer(FORM)), X, Y); }

void TanhOp::run(Call& call) { map(call, call.kernels.tanh, X, Y); }

void SwigluOp::run(Call& call) {
  zip(call, call.kernels.swiglu, exponential_cost, call.floats(GATE), call.floats(UP), call.floats(Y));
}

void GegluOp::run(Call& call) {
  zip(call, call.kernels.geglu, exponential_cost, call.floats(GATE), call.floats(UP), call.floats(Y));
}

} // namespace quern
