// Columns of the states are independent: a thread takes some columns of a value head of a sequence.
#include <string.h>

#include <cmath>

#include "ops/state-slots.h"

namespace quern {

namespace {

// What all heads share.
struct DeltaHeads {
  Floats q, k;        // [T, Hk, dk]
  Floats v, y;        // [T, Hv, dv]
  const float* decay; // [T, Hv], e^decay
  const float* beta;  // [T, Hv]
  bool tiled;
  float scale;

  int64_t Hk() const { return q.shape[1]; }
  int64_t Hv() const { return v.shape[1]; }
  int64_t dk() const { return q.width(); }
  int64_t dv() const { return v.width(); }
  int64_t parts() const { return (dv() + DELTA_COLUMNS - 1) / DELTA_COLUMNS; } // of a head
  int64_t key_head(int64_t h) const { return tiled ? h % Hk() : h / (Hv() / Hk()); }
};

// Part `part` of head h, without states. The rows are not empty.
GatedDelta part_of(const DeltaHeads& heads, const StateRows& rows, int64_t h, int64_t part) {
  const int64_t key = rows.first * heads.Hk() + heads.key_head(h), value = rows.first * heads.Hv() + h, at = part * DELTA_COLUMNS;
  GatedDelta delta{};
  delta.q = heads.q.row(key), delta.k = heads.k.row(key);
  delta.v = heads.v.row(value) + at, delta.y = heads.y.row(value) + at;
  delta.decay = heads.decay + value, delta.beta = heads.beta + value;
  delta.rows = rows.end - rows.first, delta.dk = heads.dk(), delta.columns = std::min(DELTA_COLUMNS, heads.dv() - at);
  delta.key_stride = heads.Hk() * heads.dk(), delta.value_stride = heads.Hv() * heads.dv();
  delta.gate_stride = heads.Hv(), delta.state_stride = heads.dv();
  delta.scale = heads.scale;
  return delta;
}

// A sequence without rows: columns [at, at + count) of a head.
void copy_columns(const float* from, float* to, int64_t dk, int64_t dv, int64_t count) {
  if (!to || from == to) return;
  for (int64_t i = 0; i < dk; i++)
    if (from) memcpy(to + i * dv, from + i * dv, count * sizeof(float));
    else memset(to + i * dv, 0, count * sizeof(float));
}

// Part `part` of head h of a sequence.
void advance(const Call& call, const DeltaHeads& heads, const StateRows& rows, int64_t h, int64_t part, int thread) {
  const int64_t dk = heads.dk(), dv = heads.dv(), at = h * dk * dv + part * DELTA_COLUMNS;
  const float* const from = state_slot(call, GatedDeltaOp::STATE, rows.from);
  float* const to = state_slot(call, GatedDeltaOp::STATE, rows.to);
  const float* const columns_from = from ? from + at : nullptr;
  float* const columns_to = to ? to + at : nullptr;
  if (rows.first == rows.end)
    return copy_columns(columns_from, columns_to, dk, dv, std::min(DELTA_COLUMNS, dv - part * DELTA_COLUMNS));
  GatedDelta delta = part_of(heads, rows, h, part);
  delta.from = columns_from, delta.to = columns_to;
  if (from && h + 1 < heads.Hv()) delta.ahead = from + (h + 1) * dk * dv + part * DELTA_COLUMNS * dk;
  delta.scratch = call.scratch.of(thread);
  call.kernels.gated_delta(delta);
}

} // namespace

void GatedDeltaOp::run(Call& call) {
  const Floats q = call.floats(Q, 3), k = call.floats(K, 3), v = call.floats(V, 3), y = call.floats(Y, 3); // [T, H, d]
  const Floats decay = call.floats(DECAY, 2), beta = call.floats(BETA, 2);                                // [T, Hv]
  const int64_t T = q.shape[0], Hk = q.shape[1], dk = q.shape[2], Hv = v.shape[1], dv = v.shape[2];
  call.need(q.same_shape(k) && v.same_shape(y) && v.shape[0] == T && Hk > 0 && Hv % Hk == 0,
            "q and k must be [T, Hk, dk], v and y [T, Hv, dv]");
  call.need(decay.same_shape(beta) && decay.shape[0] == T && decay.shape[1] == Hv, "decay and beta must be [T, Hv]");
  const StateBatch batch(call, CU_SEQLENS, STATES, STATE, T, Hv, dk * dv);
  if (batch.count == 0 || Hv * dv == 0) return;
  call.scratch.reserve(delta_scratch(dk), decay.count);
  float* const factors = call.scratch.shared();
  call.split(decay.count, 16, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) factors[i] = std::exp(decay.data[i]);
  });
  const DeltaHeads heads{q, k, v, y, factors, beta.data, call.flag(TILED), call.number(SCALE)};
  const int64_t parts = heads.parts(), cost = 4 * (dk + 1) * std::min(dv, DELTA_COLUMNS) * (1 + T / batch.count);
  call.split(batch.count * Hv * parts, cost, [&](int64_t first, int64_t end, int thread) {
    for (int64_t item = first; item < end; item++)
      advance(call, heads, batch[item / parts / Hv], item / parts % Hv, item % parts, thread);
  });
}

} // namespace quern
