#include "activations.h"

namespace quern::scalar {

void gelu_erf(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678118654752440f));
}

void gelu_tanh(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = gelu_tanh_of(x[i]);
}

} // namespace quern::scalar
