#include "ops/product.h"

#include <bit>

namespace quern {

// Sizes of products' tiles, tuned on the machines of docs/performance.md (L2 2 MiB, L1 32 or 48 KiB). A quotation is the
// row of docs/performance.md with the measurement. Results do not depend on these numbers.
namespace tuning {

// Up to this many rows of x, reading the weights takes longer than the arithmetic.
constexpr int64_t memory_bound_rows = 4;

// Packed weights, up to streamed_rows rows of x: weights per chunk, 128 KiB (4-bit) to 256 KiB (8-bit); at least 4 rows of
// tiles, and a power of two: the columns of most models split evenly among threads. The start of a chunk is not prefetched, and
// its end prefetches what the next thread reads.
constexpr int64_t streamed_rows = 31, streamed_weights = 16384, least_streamed_tiles = 4;
// Rows of tiles per chunk when arithmetic dominates: chunks not too small, and no long wait for the last chunk.
constexpr int64_t least_tiles = 4, most_tiles = 64;
// Cost of an 8-bit weight for T rows of x, in multiply-adds: 4 for reading, 1 per row ("4 + T"). Superblocks (one scale per
// 256 weights): 8 for reading and rounding, 1/8 per row ("8 + T / 8").
constexpr int64_t packed_price(int64_t T, bool superblock) { return superblock ? 8 + T / 8 : 4 + T; }
// Bytes of x in L2 during a chunk of the weights; fewest rows of x; rows of x are a multiple of packed_rows_step.
constexpr int64_t cached_x_bytes = 262144, least_rows = 16, packed_rows_step = 8;

// Rows of x per layout of the weights, in kernels for many rows (docs/performance.md, "Products of 64 rows in chunks of
// whole panels"): 512 rows of 1024 bytes along K stay in L2. A multiple of 32, the rows of their tiles.
constexpr int64_t most_laid_out_rows = 512, laid_out_rows_step = 32;
// Columns per chunk of bf16 products, in pairs of registers: "64 to 128 columns a chunk, so that 1024 columns split evenly"; in
// tiles "64, 128, 256 columns of y per chunk" (docs/performance.md). Wider rows get more columns: each chunk reads x from beyond L2.
struct Columns {
  int64_t least, most, width; // `width`: values of a row of x per column
};
constexpr Columns bf16_columns = {64, 128, 16}, tile_columns = {128, 256, 4};

// Weights read in place: 128 KiB of 16 bits per chunk, 8 to 256 rows, in groups of 8 (the rows of one kernel step). Floats of x
// multiplied with a chunk.
constexpr int64_t in_place_weights = 65536, least_in_place = 8, most_in_place = 256, in_place_x_floats = 262144;

// Floats of a decoded panel. memory_bound_panel: 32 KiB, fits L1, for T ≤ memory_bound_rows. panel_floats: 128 KiB, fits L2
// with x.
constexpr int64_t memory_bound_panel = 8192, panel_floats = 32768;
// Decoding a row costs about 3 multiplications of the row. Chunks of decoded weights have twice the usual cost.
constexpr int64_t decoding_price = 3, decoded_chunks = 2;
// Floats of x multiplied with one panel.
constexpr int64_t decoded_x_floats = 65536;

} // namespace tuning

// Float products in place (`direct`) and `decoded` give the same bits.
Way way_of(const Kernels& kernels, const Matrix& w, Rows rows) {
  if (w.is_packed()) return !rows.invariant && rows.count >= kernels.packed_bf16_rows ? Way::packed_bf16 : Way::packed;
  if (w.is_float()) return Way::direct;
  const bool words = w.format() == FORMAT_F16 || w.format() == FORMAT_BF16;
  if (words && kernels.gemm_of_bf16 && (rows.invariant || rows.count >= kernels.bf16_rows)) return Way::bf16;
  if (words && rows.count >= kernels.split_rows) return Way::halves;
  return words && kernels.gemm_f16 ? Way::direct : Way::decoded;
}

Needs::Needs(const Kernels& kernels, Rows rows, std::initializer_list<const Matrix*> weights)
    : bf16_in_tiles(kernels.bf16_in_tiles) {
  bool few_can = true; // all weights support superblocks for few rows
  for (const Matrix* w : weights) {
    const Way way = way_of(kernels, *w, rows);
    few_can = few_can && (!w->is_packed() || kernels.superblock_few || w->shares_scales());
    int8 = int8 || way == Way::packed;
    bf16 = bf16 || way == Way::bf16 || way == Way::packed_bf16;
    halves = halves || way == Way::halves;
    floats = floats || way == Way::direct || way == Way::decoded;
    panel = panel || way == Way::decoded;
  }
  superblock = int8 && kernels.superblock_rows > 0 && (rows.invariant ? few_can : rows.count >= kernels.superblock_rows);
  kernel_panel = superblock || bf16 || halves;
}

// Rows per part: T in equal parts of ≤ most_laid_out_rows, rounded up to laid_out_rows_step.
static int64_t many_rows_of(int64_t T) {
  using namespace tuning;
  const int64_t parts = (T + most_laid_out_rows - 1) / most_laid_out_rows;
  return ((T + parts - 1) / parts + laid_out_rows_step - 1) / laid_out_rows_step * laid_out_rows_step;
}

Tiling::Tiling(int64_t T, int64_t K, const Needs& needs) {
  if (needs.int8) cut_packed(T, K, needs.superblock);
  else if (needs.kernel_panel && !needs.panel) cut_bf16(T, K, needs.bf16_in_tiles);
  else if (!needs.panel) cut_in_place(T, K);
  else cut_decoded(T, K);
  const int64_t decoded = needs.panel ? panel * K : 0, laid_out = needs.kernel_panel ? PANEL_BYTES / 4 : 0;
  panel_floats = (std::max(decoded, laid_out) + 15) / 16 * 16;
}

// A chunk has whole rows of tiles.
void Tiling::cut_packed(int64_t T, int64_t K, bool superblock) {
  using namespace tuning;
  const int64_t width = std::max<int64_t>(K, 1), cost = width * packed_price(T, superblock);
  const int64_t streamed = std::max(least_streamed_tiles, int64_t(std::bit_floor(uint64_t(streamed_weights / width))));
  const int64_t multiplied = std::clamp(Call::chunk_cost / cost, least_tiles, most_tiles);
  panel = chunk = (T <= streamed_rows ? streamed : multiplied) * PACKED_ROWS;
  rows = superblock ? many_rows_of(T)
                : std::max(least_rows, cached_x_bytes / quantised_row_bytes(width) / packed_rows_step * packed_rows_step);
}

void Tiling::cut_bf16(int64_t T, int64_t K, bool in_tiles) {
  using namespace tuning;
  const auto& [least, most, width] = in_tiles ? tile_columns : bf16_columns;
  panel = chunk = std::clamp(K / width, least, most) / 32 * 32;
  rows = many_rows_of(T);
}

void Tiling::cut_in_place(int64_t T, int64_t K) {
  using namespace tuning;
  const int64_t width = std::max<int64_t>(K, 1);
  panel = chunk = std::clamp(in_place_weights / width, least_in_place, most_in_place) / 8 * 8;
  rows = T <= exact_rows ? exact_rows : std::max(least_rows, in_place_x_floats / width);
}

// A panel has a multiple of 4 rows, the rows of one kernel step.
void Tiling::cut_decoded(int64_t T, int64_t K) {
  using namespace tuning;
  const int64_t width = std::max<int64_t>(K, 1);
  const auto rows_of = [&](int64_t floats, int64_t least, int64_t most) {
    return std::clamp(floats / width, least, most) / 4 * 4;
  };
  panel = T <= memory_bound_rows ? rows_of(memory_bound_panel, 4, 32) : rows_of(tuning::panel_floats, 8, 64);
  const int64_t cost = width * (T + decoding_price);
  chunk = panel * std::max<int64_t>(1, decoded_chunks * Call::chunk_cost / (cost * panel));
  rows = std::max(least_rows, decoded_x_floats / width);
}

// Offsets in floats of the prepared forms of `rows` rows of width K, one form after another.
FormSizes::FormSizes(int64_t rows, int64_t K, const Needs& needs)
    : int8(needs.int8 ? rows * quantised_row_bytes(K) / 4 : 0), bf16(needs.bf16 ? rows * bf16_row_words(K) / 2 : 0),
      halves(needs.halves ? rows * bf16_row_words(K) : 0) {}

int64_t Activations::floats(const Floats& x, const Needs& needs) { return FormSizes(x.shape[0], x.width(), needs).sum(); }

void Activations::place(float* memory, const FormSizes& sizes) {
  if (sizes.int8) int8 = reinterpret_cast<uint8_t*>(memory);
  if (sizes.bf16) bf16 = reinterpret_cast<uint16_t*>(memory + sizes.int8);
  if (sizes.halves) halves = reinterpret_cast<uint16_t*>(memory + sizes.int8 + sizes.bf16);
}

void Activations::prepare(const Kernels& kernels, int64_t first, int64_t end) {
  const int64_t K = x.width();
  const auto quantise = superblock ? kernels.quantise_superblocks : kernels.quantise;
  for (int64_t t = first; t < end; t++) {
    if (int8) quantise(x.row(t), K, int8 + t * quantised_row_bytes(K));
    if (bf16) kernels.round_bf16(x.row(t), K, bf16 + t * bf16_row_words(K));
    if (halves) kernels.split_bf16(x.row(t), K, halves + t * 2 * bf16_row_words(K));
  }
}

Activations::Activations(const Call& call, const Floats& x, const Needs& needs, float* memory) : Activations(x, needs) {
  place(memory ? memory : call.scratch.shared(), FormSizes(x.shape[0], x.width(), needs));
  if (!int8 && !bf16 && !halves) return;
  call.split(x.shape[0], 3 * x.width(), [&](int64_t first, int64_t end, int) { prepare(call.kernels, first, end); });
}

const void* Product::load(int64_t first, int64_t end, float* panel) const {
  if (w_.is_packed()) return w_.tiles(first);
  if (way_ != Way::decoded) return w_.row(first);
  w_.decode(kernels_, first, end - first, panel);
  return panel;
}

void Product::multiply(const void* loaded, int64_t first, int64_t end, int64_t t, int64_t count, float* y,
                       int64_t stride, float* panel) const {
  const int64_t K = w_.width(), N = end - first;
  const float* const bias = bias_ ? bias_ + first : nullptr;
  const auto* const bytes = static_cast<const uint8_t*>(loaded);
  const auto* const words = static_cast<const uint16_t*>(loaded);
  const auto* const floats = static_cast<const float*>(loaded);
  const auto of_packed = [&](const auto& kernels, const uint8_t* x) {
    kernels[w_.format()]({x, bytes, bias, y, stride, count, N, K, panel, w_.shares_scales()});
  };
  const auto of_words = [&](auto of_bf16, auto of_f16, const auto* x, int64_t ldx, auto... scratch) {
    (w_.format() == FORMAT_F16 ? of_f16 : of_bf16)(x + t * ldx, ldx, words, K, bias, y, stride, count, N, K, scratch...);
  };
  const int64_t row_words = bf16_row_words(K);
  switch (way_) {
    case Way::packed:
      return of_packed(x_.superblock ? kernels_.superblock_gemm : kernels_.packed_gemm, x_.int8 + t * quantised_row_bytes(K));
    case Way::packed_bf16:
      return of_packed(kernels_.packed_gemm_of_bf16, reinterpret_cast<const uint8_t*>(x_.bf16 + t * row_words));
    case Way::bf16: return of_words(kernels_.gemm_of_bf16, kernels_.gemm_of_bf16_f16, x_.bf16, row_words, panel);
    case Way::halves: return of_words(kernels_.gemm_of_halves, kernels_.gemm_of_halves_f16, x_.halves, 2 * row_words, panel);
    case Way::direct:
      if (!w_.is_float()) return of_words(kernels_.gemm_bf16, kernels_.gemm_f16, x_.x.data, K);
      [[fallthrough]];
    case Way::decoded: return kernels_.gemm(x_.x.row(t), K, floats, K, bias, y, stride, count, N, K);
  }
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
