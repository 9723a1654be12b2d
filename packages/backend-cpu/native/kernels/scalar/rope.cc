#include "scalar.h"

namespace quern::scalar {

void rope(const float* x, const float* table, float* y, int64_t heads, int64_t d, int64_t r, int32_t layout) {
  const int64_t half = r / 2;
  const int64_t step = layout == 0 ? 2 : 1;      // between pairs
  const int64_t distance = layout == 0 ? 1 : half; // between the elements of a pair
  for (int64_t h = 0; h < heads; h++, x += d, y += d) {
    for (int64_t i = 0; i < half; i++) {
      const float a = x[i * step];
      const float b = x[i * step + distance];
      y[i * step] = a * table[i] - b * table[half + i];
      y[i * step + distance] = a * table[half + i] + b * table[i];
    }
    for (int64_t i = r; i < d; i++) y[i] = x[i];
  }
}

} // namespace quern::scalar
