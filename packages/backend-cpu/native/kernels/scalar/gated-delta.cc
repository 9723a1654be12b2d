#include "scalar.h"

namespace quern::scalar {

// One column: S ← decay · S + k · (beta · (v − decay · Sᵀ · k)); y = scale · Sᵀ · q.
static void advance(const GatedDelta& a, int64_t t, int64_t j, float* S) {
  const float *const q = a.q + t * a.key_stride, *const k = a.k + t * a.key_stride;
  const float decay = a.decay[t * a.gate_stride], beta = a.beta[t * a.gate_stride];
  float recalled = 0, sum = 0;
  for (int64_t i = 0; i < a.dk; i++) recalled += k[i] * S[i];
  const float change = beta * (a.v[t * a.value_stride + j] - decay * recalled);
  for (int64_t i = 0; i < a.dk; i++) {
    S[i] = decay * S[i] + k[i] * change;
    sum += q[i] * S[i];
  }
  a.y[t * a.value_stride + j] = a.scale * sum;
}

void gated_delta(const GatedDelta& a) {
  float* const S = a.scratch; // [dk], one column
  for (int64_t j = 0; j < a.columns; j++) {
    for (int64_t i = 0; i < a.dk; i++) S[i] = a.from ? a.from[i * a.state_stride + j] : 0;
    for (int64_t t = 0; t < a.rows; t++) advance(a, t, j, S);
    for (int64_t i = 0; a.to && i < a.dk; i++) a.to[i * a.state_stride + j] = S[i];
  }
}

} // namespace quern::scalar
