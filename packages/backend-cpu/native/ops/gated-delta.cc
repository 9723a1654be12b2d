#include <cmath>

#include "ops/state-slots.h"

namespace quern {

namespace {

// Columns of a state that are computed together.
constexpr int64_t delta_columns = 64;

// Consecutive rows of one sequence, one value head, ≤ delta_columns columns of its state S [dk, columns].
struct GatedDelta {
  const float *q, *k;        // [rows, dk], key_stride floats between rows
  const float* v;            // [rows, columns], value_stride
  float* y;                  // as v
  const float *decay, *beta; // [rows], gate_stride; e^decay
  const float* from;         // S before the first row, state_stride; null: zeros
  float* to;                 // S after the last row, may be `from`; null: not written
  int64_t rows, dk, columns, key_stride, value_stride, gate_stride, state_stride;
  float scale;
  float* scratch; // delta_scratch(dk) floats
};
constexpr int64_t delta_scratch(int64_t dk) { return (dk + 1) * delta_columns; }

void gated_delta(const GatedDelta& a) {
  float *const S = a.scratch, *const change = S + a.dk * a.columns;
  for (int64_t i = 0; i < a.dk; i++)
    for (int64_t j = 0; j < a.columns; j++) S[i * a.columns + j] = a.from ? a.from[i * a.state_stride + j] : 0;
  for (int64_t t = 0; t < a.rows; t++) {
    const float *const q = a.q + t * a.key_stride, *const k = a.k + t * a.key_stride, *const v = a.v + t * a.value_stride;
    float* const y = a.y + t * a.value_stride;
    const float decay = a.decay[t * a.gate_stride], beta = a.beta[t * a.gate_stride];
    for (int64_t j = 0; j < a.columns; j++) change[j] = 0;
    for (int64_t i = 0; i < a.dk; i++)
      for (int64_t j = 0; j < a.columns; j++) change[j] += k[i] * S[i * a.columns + j];
    for (int64_t j = 0; j < a.columns; j++) change[j] = beta * (v[j] - decay * change[j]), y[j] = 0;
    for (int64_t i = 0; i < a.dk; i++)
      for (int64_t j = 0; j < a.columns; j++) {
        float& value = S[i * a.columns + j];
        value = decay * value + k[i] * change[j];
        y[j] += q[i] * value;
      }
    for (int64_t j = 0; j < a.columns; j++) y[j] *= a.scale;
  }
  for (int64_t i = 0; a.to && i < a.dk; i++)
    for (int64_t j = 0; j < a.columns; j++) a.to[i * a.state_stride + j] = S[i * a.columns + j];
}

// The operands; e^decay [T, Hv].
struct DeltaOperands {
  Floats q, k, v, beta, y;
  const float* decay;
  int64_t Hk, Hv, dk, dv;
  float scale;
  bool tiled;

  // Columns [column, column + count) of head h.
  GatedDelta of(const StateRows& rows, int64_t h, int64_t column, int64_t count) const {
    const int64_t key = rows.first * Hk + (tiled ? h % Hk : h / (Hv / Hk)), value = rows.first * Hv + h;
    GatedDelta delta{};
    delta.q = q.row(key), delta.k = k.row(key);
    delta.v = v.row(value) + column, delta.y = y.row(value) + column;
    delta.decay = decay + value, delta.beta = beta.data + value;
    delta.rows = rows.end - rows.first, delta.dk = dk, delta.columns = count;
    delta.key_stride = Hk * dk, delta.value_stride = Hv * dv, delta.gate_stride = Hv, delta.state_stride = dv;
    delta.scale = scale;
    return delta;
  }
};

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
  float* const decays = call.scratch.shared();
  call.split(decay.count, 8, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) decays[i] = std::exp(decay.data[i]);
  });
  const DeltaOperands operands{q, k, v, beta, y, decays, Hk, Hv, dk, dv, call.number(SCALE), call.flag(TILED)};
  const int64_t parts = (dv + delta_columns - 1) / delta_columns, cost = 4 * (dk + 1) * delta_columns * (1 + T / batch.count);
  call.split(batch.count * Hv * parts, cost, [&](int64_t first, int64_t end, int thread) {
    for (int64_t item = first; item < end; item++) {
      const StateRows rows = batch[item / parts / Hv];
      const int64_t h = item / parts % Hv, column = item % parts * delta_columns, at = h * dk * dv + column;
      GatedDelta delta = operands.of(rows, h, column, std::min(delta_columns, dv - column));
      if (const float* const from = state_slot(call, STATE, rows.from)) delta.from = from + at;
      if (float* const to = state_slot(call, STATE, rows.to)) delta.to = to + at;
      delta.scratch = call.scratch.of(thread);
      gated_delta(delta);
    }
  });
}

} // namespace quern
