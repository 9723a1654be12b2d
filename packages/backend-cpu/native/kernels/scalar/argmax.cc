#include "scalar.h"
#include <math.h>

namespace quern::scalar {

int64_t argmax(const float* x, int64_t width, float* max) {
  int64_t best = 0;
  *max = -INFINITY;
  for (int64_t i = 0; i < width; i++)
    if (x[i] > *max) {
      best = i;
      *max = x[i];
    }
  return best;
}

} // namespace quern::scalar
