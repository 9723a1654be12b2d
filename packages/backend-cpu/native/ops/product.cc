#include "ops/product.h"

namespace quern {

// Matrix-vector products stream the weights: panels fit the first cache, and a chunk is long enough for the hardware
// to prefetch. Matrix products compute: a panel and a block of x fit the second cache together.
Tiling::Tiling(int64_t T, int64_t K) {
  const int64_t width = std::max<int64_t>(K, 1);
  const bool streams = T <= 4;
  const auto rows_of = [&](int64_t floats, int64_t least, int64_t most) {
    return std::clamp(floats / width, least, most) / 4 * 4;
  };
  panel = streams ? rows_of(8192, 4, 32) : rows_of(32768, 8, 64);
  const int64_t cost = width * (T + 3); // decoding a row costs about as much as multiplying it three times
  const int64_t panels = std::max<int64_t>(1, 2 * Call::chunk_cost / (cost * panel));
  chunk = panel * panels;
  rows = std::max<int64_t>(16, 65536 / width);
}

const float* Product::load(int64_t first, int64_t end, float* panel) const {
  if (w_.is_float()) return w_.floats() + first * w_.width();
  w_.decode(kernels_, first, end - first, panel);
  return panel;
}

void Product::multiply(const float* panel, int64_t first, int64_t end, int64_t t, int64_t count, float* y,
                       int64_t stride) const {
  const int64_t K = w_.width();
  kernels_.gemm(x_.row(t), K, panel, K, bias_ ? bias_ + first : nullptr, y, stride, count, end - first, K);
}

void Product::columns(int64_t first, int64_t end, float* y, int64_t stride, float* panel) const {
  const int64_t T = x_.shape[0];
  const Tiling tiling(T, w_.width());
  for (int64_t n = first; n < end; n += tiling.panel) {
    const int64_t last = std::min(end, n + tiling.panel);
    const float* rows = load(n, last, panel);
    for (int64_t t = 0; t < T; t += tiling.rows)
      multiply(rows, n, last, t, std::min(tiling.rows, T - t), y + t * stride + n - first, stride);
  }
}

} // namespace quern
