#include "activations.h"

namespace quern::scalar {

void geglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = gelu_tanh_of(gate[i]) * up[i];
}

} // namespace quern::scalar
