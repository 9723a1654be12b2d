// Products of many rows on AMX: four tile products, 256 along k, add up in a tile register before storing and scaling.
// docs/performance.md counts the cycles.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "../avx512/bytes.h"

namespace quern::amx {

constexpr bool UNSIGNED_PANEL = false;
// Depth of a panel along k: a panel of 16 KB, as many bytes of x and 8 KB of products fit L1.
constexpr int64_t PANEL_K = 512;
constexpr int64_t TILES_ROWS = 32; // rows of one block of y, which reads the weights once

} // namespace quern::amx

#include "../superblock-gemm.h"
#include "tile.h"

namespace quern::amx {
namespace {

// Registers: sums 0 … 3 (2 · i + j), rows of x 4 + i, columns of w 6 + j.
constexpr int X = 4, W = 6;
constexpr int64_t ROWS = 2 * TILE_LINES; // of y per step

// Contents of the tile registers for a block of y, per 256 of k.
struct Products {
  alignas(64) int32_t of[STRETCHES][4][TILE_LINES][PACKED_ROWS];
};

inline const float* next_row(const float* p, int64_t row_bytes) {
  return reinterpret_cast<const float*>(reinterpret_cast<const uint8_t*>(p) + row_bytes);
}

// Tiles for `rows` rows of x.
inline TileConfig shapes(int64_t rows) {
  const int upper = int(least(rows, TILE_LINES)), lower = int(rows - upper);
  TileConfig config;
  for (int j = 0; j < 2; j++) {
    config.set(j, upper);
    config.set(W + j, TILE_LINES);
    if (lower) config.set(2 + j, lower);
  }
  config.set(X, upper);
  if (lower) config.set(X + 1, lower);
  return config;
}

// `count` spans of x, rows `row_bytes` apart, with the part's spans from `first` on. I · 16 rows, J · 16 columns.
template <int I, int J, class Weights>
inline void multiply_spans(const int8_t* x, int64_t row_bytes, const Weights& w, int64_t first, int64_t count,
                           int32_t (&products)[4][TILE_LINES][PACKED_ROWS]) {
  static_assert(!Weights::is_unsigned);
  zero<0>();
  if constexpr (J == 2) zero<1>();
  if constexpr (I == 2) zero<2>();
  if constexpr (I == 2 && J == 2) zero<3>();
  for (int64_t span = 0; span < count; span++) {
    const int8_t* const values = x + span * SPAN;
    load<W>(w.lines(first + span, 0), TILE_LINE);
    load<X>(values, row_bytes);
    add_products_int8<0, X, W>();
    if constexpr (J == 2) {
      load<W + 1>(w.lines(first + span, 1), TILE_LINE);
      add_products_int8<1, X, W + 1>();
    }
    if constexpr (I == 2) {
      load<X + 1>(values + TILE_LINES * row_bytes, row_bytes);
      add_products_int8<2, X + 1, W>();
    }
    if constexpr (I == 2 && J == 2) add_products_int8<3, X + 1, W + 1>();
  }
  store<0>(products[0], TILE_LINE);
  if constexpr (J == 2) store<1>(products[1], TILE_LINE);
  if constexpr (I == 2) store<2>(products[2], TILE_LINE);
  if constexpr (I == 2 && J == 2) store<3>(products[3], TILE_LINE);
}

// y += products of S · 256 along k, each with the scales of its row and column. J · 16 columns.
template <int J, int S, class Weights>
inline void add_to_y(const PackedGemm& g, const Part& part, const Products& products, const Weights& w) {
  const bool complete = part.k + part.spans * SPAN >= g.K;
  const int64_t row_bytes = quantised_row_bytes(g.K), last = part.n + (J - 1) * LANES;
  const int64_t left = least(g.N - last, LANES); // columns in the last register
  const float* scales = superblock_row(g.x + part.t * row_bytes, g.K).scales + part.k / SUPERBLOCK;
  float* y = g.y + part.t * g.ldy + part.n;
  Floats steps[S][J], bias[J];
  for (int j = 0; j < J; j++) {
    bias[j] = complete && g.bias ? load(g.bias + part.n + j * LANES, j + 1 < J ? LANES : left) : set(0);
    for (int s = 0; s < S; s++) steps[s][j] = w.steps(s * SUPERBLOCK_SPANS, j);
  }
  for (int64_t r = 0; r < part.rows; r++, y += g.ldy, scales = next_row(scales, row_bytes))
    for (int j = 0; j < J; j++) {
      const int64_t count = j + 1 < J ? LANES : left;
      Floats sum = part.k == 0 ? set(0) : load(y + j * LANES, count);
      for (int s = 0; s < S; s++) {
        const Ints product = _mm512_load_si512(products.of[s][r / TILE_LINES * 2 + j][r % TILE_LINES]);
        sum = fma(to_floats(product), set(scales[s]) * steps[s][j], sum);
      }
      store(y + j * LANES, sum + bias[j], count);
    }
}

template <int I, int J, class Weights>
void multiply_block(const PackedGemm& g, const Part& part, const Weights& w) {
  Products products;
  const int64_t row_bytes = quantised_row_bytes(g.K);
  const int8_t* const x = superblock_row(g.x + part.t * row_bytes, g.K).values + part.k;
  for (int64_t span = 0; span < part.spans; span += SUPERBLOCK_SPANS)
    multiply_spans<I, J>(x + span * SPAN, row_bytes, w, span, least(part.spans - span, SUPERBLOCK_SPANS),
                         products.of[span / SUPERBLOCK_SPANS]);
  static_assert(STRETCHES == 2);
  if (part.spans > SUPERBLOCK_SPANS) add_to_y<J, 2>(g, part, products, w);
  else add_to_y<J, 1>(g, part, products, w);
}

template <class Weights>
void multiply(const PackedGemm& g, Part part, const Weights& w) {
  int64_t configured = 0;
  for (part.t = 0; part.t < g.T; part.t += ROWS) {
    part.rows = least(g.T - part.t, ROWS);
    if (part.rows != configured) configure(shapes(part.rows));
    configured = part.rows;
    const bool wide = part.columns > PACKED_ROWS;
    if (part.rows > TILE_LINES) wide ? multiply_block<2, 2>(g, part, w) : multiply_block<2, 1>(g, part, w);
    else wide ? multiply_block<1, 2>(g, part, w) : multiply_block<1, 1>(g, part, w);
  }
  release();
}

} // namespace
} // namespace quern::amx
