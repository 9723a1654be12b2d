#include "scalar.h"

namespace quern::scalar {

void short_conv(const ShortConv& a) {
  for (int64_t t = 0; t < a.rows; t++)
    for (int64_t c = 0; c < a.channels; c++) {
      float sum = a.bias ? a.bias[c] : 0;
      for (int64_t j = 0; j < a.L; j++) sum += a.w[j * a.channels + c] * a.input(t + j)[c];
      a.y[t * a.row_stride + c] = sum;
    }
}

} // namespace quern::scalar
