#include "scalar.h"
#include <math.h>

namespace quern::scalar {

void layer_norm(const float* x, const float* w, const float* b, float eps, float* y, int64_t width) {
  double total = 0, squares = 0;
  for (int64_t i = 0; i < width; i++) total += double(x[i]);
  const double mean = total / double(width);
  for (int64_t i = 0; i < width; i++) squares += (double(x[i]) - mean) * (double(x[i]) - mean);
  const double factor = 1 / sqrt(squares / double(width) + double(eps));
  for (int64_t i = 0; i < width; i++) y[i] = float((double(x[i]) - mean) * factor) * w[i] + b[i];
}

} // namespace quern::scalar
