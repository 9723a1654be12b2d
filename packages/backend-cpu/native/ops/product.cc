#include "ops/product.h"

namespace quern {

// So few rows of x wait for the weights.
static constexpr int64_t few = 4;

// Products of floats give the same bits whether weights are decoded before.
Way way_of(const Kernels& kernels, const Matrix& w, Rows rows) {
  if (w.is_packed()) return Way::packed;
  if (w.is_float()) return Way::direct;
  const bool words = w.format() == FORMAT_F16 || w.format() == FORMAT_BF16, few = rows.count <= exact_rows;
  if (words && kernels.gemm_of_bf16 && (rows.invariant || !few)) return Way::bf16;
  return words && kernels.gemm_f16 && few ? Way::direct : Way::decoded;
}

Needs::Needs(const Kernels& kernels, Rows rows, std::initializer_list<const Matrix*> weights) {
  bool few_can = true; // be coarse
  for (const Matrix* w : weights) {
    const Way way = way_of(kernels, *w, rows);
    few_can = few_can && (!w->is_packed() || kernels.coarse_few || w->shares_scales());
    int8 = int8 || way == Way::packed;
    bf16 = bf16 || way == Way::bf16;
    floats = floats || way == Way::direct || way == Way::decoded;
    panel = panel || way == Way::decoded;
  }
  coarse = int8 && kernels.coarse_rows > 0 && (rows.invariant ? few_can : rows.count >= kernels.coarse_rows);
  kernel_panel = coarse || bf16;
}

// Rows of x for which the kernels of many rows lay out a weight once; 1024 bytes of each along K stay in the second cache.
static int64_t many_rows_of(int64_t T) {
  constexpr int64_t most = 512, together = 32;
  const int64_t parts = (T + most - 1) / most;
  return ((T + parts - 1) / parts + together - 1) / together * together;
}

Tiling::Tiling(int64_t T, int64_t K, const Needs& needs) {
  if (needs.int8) cut_packed(T, K, needs.coarse);
  else if (needs.bf16 && !needs.panel) { // the wider a row, the more columns: x is read from beyond the second cache for each chunk
    panel = chunk = std::clamp<int64_t>(K / 16, 64, 128) / 32 * 32;
    rows = many_rows_of(T);
  } else if (T <= exact_rows && !needs.panel) cut_streamed(K);
  else cut_decoded(T, K);
  const int64_t decoded = needs.panel ? panel * K : 0, laid_out = needs.kernel_panel ? PANEL_BYTES / 4 : 0;
  panel_floats = (std::max(decoded, laid_out) + 15) / 16 * 16;
}

// Few rows of x stream the weights, so a chunk is long enough for the hardware to prefetch; many rows of x stay in the second
// cache while a chunk of the weights passes. A chunk is of rows of tiles: for few rows of x about 128 KiB to read, otherwise
// by what multiplying them costs: reading them costs as much as multiplying them four times, rounding them to one step twice
// that.
void Tiling::cut_packed(int64_t T, int64_t K, bool coarse) {
  const int64_t width = std::max<int64_t>(K, 1), cost = width * (coarse ? 8 + T / 8 : 4 + T);
  const int64_t streamed = std::max<int64_t>(4, 16384 / width);
  const int64_t multiplied = std::clamp<int64_t>(Call::chunk_cost / cost, 4, 64);
  panel = chunk = (T <= few ? streamed : multiplied) * PACKED_ROWS;
  rows = coarse ? many_rows_of(T) : std::max<int64_t>(16, 262144 / quantised_row_bytes(width) / 8 * 8);
}

// Weights are read where they are: long streams.
void Tiling::cut_streamed(int64_t K) {
  panel = chunk = std::clamp<int64_t>(65536 / std::max<int64_t>(K, 1), 8, 256) / 8 * 8;
  rows = exact_rows;
}

// Matrix-vector products keep panels in the first cache; in matrix products a panel and a block of x fit the second together.
void Tiling::cut_decoded(int64_t T, int64_t K) {
  const int64_t width = std::max<int64_t>(K, 1);
  const auto rows_of = [&](int64_t floats, int64_t least, int64_t most) {
    return std::clamp(floats / width, least, most) / 4 * 4;
  };
  panel = T <= few ? rows_of(8192, 4, 32) : rows_of(32768, 8, 64);
  const int64_t cost = width * (T + 3); // decoding a row costs about as much as multiplying it three times
  chunk = panel * std::max<int64_t>(1, 2 * Call::chunk_cost / (cost * panel));
  rows = std::max<int64_t>(16, 65536 / width);
}

static int64_t int8_floats(const Floats& x) {
  return x.shape[0] * quantised_row_bytes(x.width()) / static_cast<int64_t>(sizeof(float));
}

int64_t Activations::floats(const Floats& x, const Needs& needs) {
  return (needs.int8 ? int8_floats(x) : 0) + (needs.bf16 ? (x.count + 1) / 2 : 0);
}

Activations::Activations(const Call& call, const Floats& x, const Needs& needs, float* memory)
    : x(x), coarse(needs.coarse) {
  const int64_t K = x.width(), row_bytes = quantised_row_bytes(K);
  if (!memory) memory = call.scratch.shared();
  auto* const int8_rows = reinterpret_cast<uint8_t*>(memory);
  auto* const bf16_rows = reinterpret_cast<uint16_t*>(memory + (needs.int8 ? int8_floats(x) : 0));
  if (!needs.int8 && !needs.bf16) return;
  const auto quantise = coarse ? call.kernels.quantise_coarse : call.kernels.quantise;
  call.split(x.shape[0], 3 * K, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++) {
      if (needs.int8) quantise(x.row(t), K, int8_rows + t * row_bytes);
      if (needs.bf16) call.kernels.f32_to_bf16(x.row(t), bf16_rows + t * K, K);
    }
  });
  int8 = needs.int8 ? int8_rows : nullptr;
  bf16 = needs.bf16 ? bf16_rows : nullptr;
}

const void* Product::load(int64_t first, int64_t end, float* panel) const {
  if (way_ == Way::packed) return w_.tiles(first);
  if (way_ != Way::decoded) return w_.row(first);
  w_.decode(kernels_, first, end - first, panel);
  return panel;
}

void Product::multiply(const void* loaded, int64_t first, int64_t end, int64_t t, int64_t count, float* y,
                       int64_t stride, float* panel) const {
  const int64_t K = w_.width(), N = end - first;
  const float* const bias = bias_ ? bias_ + first : nullptr;
  const auto* const floats = static_cast<const float*>(loaded);
  const auto* const words = static_cast<const uint16_t*>(loaded);
  if (way_ == Way::packed)
    (x_.coarse ? kernels_.coarse_gemm : kernels_.packed_gemm)[w_.format()](
        {x_.int8 + t * quantised_row_bytes(K), static_cast<const uint8_t*>(loaded), bias, y, stride, count, N, K,
         panel,
         w_.shares_scales()});
  else if (way_ == Way::bf16)
    (w_.format() == FORMAT_F16 ? kernels_.gemm_of_bf16_f16 : kernels_.gemm_of_bf16)(
        x_.bf16 + t * K, K, words, K, bias, y, stride, count, N, K, panel);
  else if (way_ == Way::decoded || w_.is_float()) kernels_.gemm(x_.x.row(t), K, floats, K, bias, y, stride, count, N, K);
  else if (w_.format() == FORMAT_F16) kernels_.gemm_f16(x_.x.row(t), K, words, K, bias, y, stride, count, N, K);
  else kernels_.gemm_bf16(x_.x.row(t), K, words, K, bias, y, stride, count, N, K);
}

void Product::columns_of_rows(const Tiling& tiling, int64_t first, int64_t end, RowRange rows, float* y,
                              int64_t stride, float* panel) const {
  for (int64_t n = first; n < end; n += tiling.panel) {
    const int64_t last = std::min(end, n + tiling.panel);
    const void* loaded = load(n, last, panel);
    for (int64_t t = rows.first; t < rows.end; t += tiling.rows)
      multiply(loaded, n, last, t, std::min(tiling.rows, rows.end - t), y + (t - rows.first) * stride + n - first,
               stride, panel);
  }
}

} // namespace quern
