#include "scalar.h"

namespace quern::scalar {

void scale(const float* x, float factor, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor;
}

} // namespace quern::scalar
