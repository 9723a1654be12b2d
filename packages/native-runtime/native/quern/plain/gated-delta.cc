#include <cmath>
#include <vector>

#include "quern/plain/plain.h"
#include "quern/plain/state.h"

namespace quern::plain {

namespace {

struct Row {
  const float *q, *k, *v;
  double decay, beta;
};

// The state S [dk, dv] of a head after one more row; y [dv] = scale · Sᵀ · q.
void advance(float* S, int64_t dk, int64_t dv, const Row& row, double scale, float* y) {
  for (int64_t j = 0; j < dv; j++) {
    double recalled = 0, sum = 0;
    for (int64_t i = 0; i < dk; i++) recalled += row.k[i] * row.decay * S[i * dv + j];
    const double change = row.beta * (row.v[j] - recalled);
    for (int64_t i = 0; i < dk; i++) {
      const double value = row.decay * S[i * dv + j] + row.k[i] * change;
      S[i * dv + j] = static_cast<float>(value);
      sum += row.q[i] * value;
    }
    y[j] = static_cast<float>(scale * sum);
  }
}

} // namespace

void gated_delta(const OpView& op) {
  const Floats q = op.floats(GatedDeltaOp::Q, 3), k = op.floats(GatedDeltaOp::K, 3), v = op.floats(GatedDeltaOp::V, 3);
  const Floats decay = op.floats(GatedDeltaOp::DECAY, 2), beta = op.floats(GatedDeltaOp::BETA, 2), y = op.floats(GatedDeltaOp::Y, 3);
  const int64_t T = q.shape[0], Hk = q.shape[1], dk = q.width(), Hv = v.shape[1], dv = v.width();
  op.need(q.same_shape(k) && v.same_shape(y) && v.shape[0] == T && Hk > 0 && Hv % Hk == 0, "q and k must be [T, Hk, dk], v and y [T, Hv, dv]");
  op.need(decay.same_shape(beta) && decay.shape[0] == T && decay.width() == Hv, "decay and beta must be [T, Hv]");
  const StateBatch batch(op, GatedDeltaOp::CU_SEQLENS, GatedDeltaOp::STATES, GatedDeltaOp::STATE, T, Hv, dk * dv);
  const bool tiled = op.flag(GatedDeltaOp::TILED);
  for (int64_t s = 0; s < batch.count; s++) {
    const StateRows rows = batch[s];
    std::vector<float> state = read_state(op, GatedDeltaOp::STATE, rows); // [Hv, dk, dv]
    for (int64_t t = rows.first; t < rows.end; t++)
      for (int64_t h = 0; h < Hv; h++) {
        const int64_t at = t * Hv + h, key = t * Hk + (tiled ? h % Hk : h / (Hv / Hk));
        const Row row{q.row(key), k.row(key), v.row(at), std::exp(double(decay.data[at])), beta.data[at]};
        advance(state.data() + h * dk * dv, dk, dv, row, op.number(GatedDeltaOp::SCALE), y.row(at));
      }
    write_state(op, GatedDeltaOp::STATE, rows, state.data());
  }
}

} // namespace quern::plain
