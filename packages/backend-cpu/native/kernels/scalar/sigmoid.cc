#include "activations.h"

namespace quern::scalar {

void sigmoid(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = 1 / (1 + expf(-x[i]));
}

} // namespace quern::scalar
