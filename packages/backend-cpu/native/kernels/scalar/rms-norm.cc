#include "scalar.h"
#include <math.h>

namespace quern::scalar {

void rms_norm(const float* x, const float* w, float eps, float* y, int64_t width) {
  double squares = 0;
  for (int64_t i = 0; i < width; i++) squares += double(x[i]) * double(x[i]);
  const float factor = float(1 / sqrt(squares / double(width) + double(eps)));
  for (int64_t i = 0; i < width; i++) y[i] = x[i] * factor * w[i];
}

} // namespace quern::scalar
