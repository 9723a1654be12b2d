#include "scalar.h"
#include <math.h>

namespace quern::scalar {

void l2_normalise(const float* x, float* y, int64_t width) {
  double squares = 0;
  for (int64_t i = 0; i < width; i++) squares += double(x[i]) * double(x[i]);
  const float norm = squares == 0 ? 1 : float(sqrt(squares));
  for (int64_t i = 0; i < width; i++) y[i] = x[i] / norm;
}

} // namespace quern::scalar
