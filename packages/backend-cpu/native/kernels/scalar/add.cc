#include "scalar.h"

namespace quern::scalar {

void add(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

} // namespace quern::scalar
