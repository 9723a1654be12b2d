#include "ops/product.h"

namespace quern {

Needs::Needs(const Kernels& kernels, int64_t T, std::initializer_list<const Weight*> weights) {
  for (const Weight* w : weights) {
    int8 = int8 || w->is_packed();
    panel = panel || !(w->is_packed() || w->is_float());
  }
  coarse = int8 && kernels.coarse_rows > 0 && T >= kernels.coarse_rows;
}

// Rows of x for which the kernels of many rows unpack a weight once; 1024 of each along K stay in the second cache.
static int64_t coarse_rows_of(int64_t T) {
  constexpr int64_t most = 512, together = 32;
  const int64_t parts = (T + most - 1) / most;
  return ((T + parts - 1) / parts + together - 1) / together * together;
}

// Packed weights: few rows of x stream the weights, so a chunk is long enough for the hardware to prefetch; many rows of x
// stay in the second cache while a chunk of the weights passes. Others: matrix-vector products keep panels in the first
// cache; in matrix products a panel and a block of x fit the second cache together.
Tiling::Tiling(int64_t T, int64_t K, const Needs& needs) {
  const int64_t width = std::max<int64_t>(K, 1);
  if (needs.int8) {
    // Of 16 columns: reading them costs as much as multiplying them four times, rounding them to one step twice that.
    const int64_t cost = width * (needs.coarse ? 8 + T / 8 : 4 + T);
    chunk = std::clamp<int64_t>(Call::chunk_cost / cost, T > 64 ? 4 : needs.coarse ? 2 : 1, 64) * PACKED_ROWS;
    panel = chunk;
    rows = needs.coarse ? coarse_rows_of(T) : std::max<int64_t>(16, 262144 / quantised_row_bytes(width) / 8 * 8);
    panel_floats = needs.panel ? panel * K : 0;
    return;
  }
  const bool streams = T <= 4;
  const auto rows_of = [&](int64_t floats, int64_t least, int64_t most) {
    return std::clamp(floats / width, least, most) / 4 * 4;
  };
  panel = streams ? rows_of(8192, 4, 32) : rows_of(32768, 8, 64);
  const int64_t cost = width * (T + 3); // decoding a row costs about as much as multiplying it three times
  const int64_t panels = std::max<int64_t>(1, 2 * Call::chunk_cost / (cost * panel));
  chunk = panel * panels;
  rows = std::max<int64_t>(16, 65536 / width);
  panel_floats = needs.panel ? panel * K : 0;
}

int64_t Activations::floats(const Floats& x, const Needs& needs) {
  return needs.int8 ? x.shape[0] * quantised_row_bytes(x.width()) / static_cast<int64_t>(sizeof(float)) : 0;
}

Activations::Activations(const Call& call, const Floats& x, const Needs& needs)
    : x(x), quantised(nullptr), coarse(needs.coarse) {
  if (!needs.int8) return;
  auto* const rows = reinterpret_cast<uint8_t*>(call.scratch.shared());
  const auto quantise = coarse ? call.kernels.quantise_coarse : call.kernels.quantise;
  const int64_t K = x.width(), bytes = quantised_row_bytes(K);
  call.split(x.shape[0], K, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++) quantise(x.row(t), K, rows + t * bytes);
  });
  quantised = rows;
}

const float* Product::load(int64_t first, int64_t end, float* panel) const {
  if (w_.is_packed()) return nullptr;
  if (w_.is_float()) return w_.floats() + first * w_.width();
  w_.decode(kernels_, first, end - first, panel);
  return panel;
}

void Product::multiply(const float* panel, int64_t first, int64_t end, int64_t t, int64_t count, float* y,
                       int64_t stride) const {
  const int64_t K = w_.width();
  const float* bias = bias_ ? bias_ + first : nullptr;
  if (w_.is_packed())
    (x_.coarse ? kernels_.coarse_gemm : kernels_.packed_gemm)[w_.format()](
        {x_.quantised + t * quantised_row_bytes(K), w_.tiles(first), bias, y, stride, count, end - first, K});
  else kernels_.gemm(x_.x.row(t), K, panel, K, bias, y, stride, count, end - first, K);
}

void Product::columns(const Tiling& tiling, int64_t first, int64_t end, float* y, int64_t stride, float* panel) const {
  const int64_t T = x_.x.shape[0];
  for (int64_t n = first; n < end; n += tiling.panel) {
    const int64_t last = std::min(end, n + tiling.panel);
    const float* rows = load(n, last, panel);
    for (int64_t t = 0; t < T; t += tiling.rows)
      multiply(rows, n, last, t, std::min(tiling.rows, T - t), y + t * stride + n - first, stride);
  }
}

} // namespace quern
