#include "scalar.h"

namespace quern::scalar {

namespace {

// Sixteen partial sums, folded by halves: the compiler can vectorise without reordering.
float dot(const float* a, const float* b, int64_t n) {
  float sum[16] = {};
  int64_t k = 0;
  for (; k + 16 <= n; k += 16)
    for (int i = 0; i < 16; i++) sum[i] += a[k + i] * b[k + i];
  for (int i = 0; k + i < n; i++) sum[i] += a[k + i] * b[k + i];
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; i++) sum[i] += sum[i + width];
  return sum[0];
}

} // namespace

void gemm(const float* x, int64_t ldx, const float* w, int64_t ldw, const float* bias, float* y, int64_t ldy, int64_t T,
          int64_t N, int64_t K) {
  for (int64_t n = 0; n < N; n++)
    for (int64_t t = 0; t < T; t++) {
      const float sum = dot(x + t * ldx, w + n * ldw, K);
      y[t * ldy + n] = bias ? sum + bias[n] : sum;
    }
}

} // namespace quern::scalar
