#include "scalar.h"
#include <math.h>

namespace quern::scalar {

void softmax(const float* x, float* y, int64_t width) {
  float max = -INFINITY;
  for (int64_t i = 0; i < width; i++) max = x[i] > max ? x[i] : max;
  double sum = 0;
  for (int64_t i = 0; i < width; i++) {
    y[i] = expf(x[i] - max); // a NaN makes the sum NaN, and so the whole row
    sum += y[i];
  }
  const float factor = float(1 / sum);
  for (int64_t i = 0; i < width; i++) y[i] *= factor;
}

} // namespace quern::scalar
