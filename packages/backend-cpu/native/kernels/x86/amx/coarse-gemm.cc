// The product of coarse rows of x with packed weights on AMX. Weights are made int8 a panel at a time, which stays in the
// first cache while all rows of x pass; both factors have one scale for every 256 along k, so four tile products add up in
// a register before they are stored and scaled. docs/performance.md counts the cycles.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "panel.h"
#include "tile.h"

namespace quern::amx {
namespace {

// Registers: sums 0 … 3 (2 · i + j), rows of x 4 + i, columns of w 6 + j.
constexpr int X = 4, W = 6;
constexpr int64_t ROWS = 2 * TILE_LINES, COLUMNS = 2 * PACKED_ROWS; // of y at a time
// Along k at a time: a panel of 16 KB, as much of x and 8 KB of products fit the first cache.
constexpr int64_t PANEL_K = 512, STRETCHES = PANEL_K / COARSE;

struct Panel {
  PanelSpan spans[PANEL_K / SPAN][2];
  float steps[STRETCHES][2][PACKED_ROWS];
};

// What tile registers give for a block of y, for each 256 of k.
struct Products {
  alignas(64) int32_t of[STRETCHES][4][TILE_LINES][PACKED_ROWS];
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
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

// `spans` spans of x, rows `row_bytes` apart, times those of the panel. I · 16 rows, J · 16 columns.
template <int I, int J>
inline void multiply_spans(const int8_t* x, int64_t row_bytes, const PanelSpan (*w)[2], int64_t spans,
                           int32_t (&products)[4][TILE_LINES][PACKED_ROWS]) {
  zero<0>();
  if constexpr (J == 2) zero<1>();
  if constexpr (I == 2) zero<2>();
  if constexpr (I == 2 && J == 2) zero<3>();
  for (int64_t span = 0; span < spans; span++) {
    const int8_t* const values = x + span * SPAN;
    load<W>(w[span][0].lines, TILE_LINE);
    load<X>(values, row_bytes);
    add_products_int8<0, X, W>();
    if constexpr (J == 2) {
      load<W + 1>(w[span][1].lines, TILE_LINE);
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

// What is multiplied: rows [t, t + rows) of x, columns [n, n + columns) of y and [k, k + spans · 64) along K.
struct Part {
  int64_t t, rows, n, columns, k, spans;
};

// y += the products of S · 256 along k, each with the scales of its row and its column. J · 16 columns.
template <int J, int S>
inline void add_to_y(const PackedGemm& g, const Part& part, const Products& products, const Panel& panel) {
  const bool complete = part.k + part.spans * SPAN >= g.K;
  const int64_t row_bytes = quantised_row_bytes(g.K), last = part.n + (J - 1) * LANES;
  const int64_t left = least(g.N - last, LANES); // columns of the last register
  const float* scales = coarse_row(g.x + part.t * row_bytes, g.K).scales + part.k / COARSE;
  float* y = g.y + part.t * g.ldy + part.n;
  Floats steps[S][J], bias[J];
  for (int j = 0; j < J; j++) {
    bias[j] = complete && g.bias ? load(g.bias + part.n + j * LANES, j + 1 < J ? LANES : left) : set(0);
    for (int s = 0; s < S; s++) steps[s][j] = load(panel.steps[s][j]);
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

template <int I, int J>
void multiply_block(const PackedGemm& g, const Part& part, const Panel& panel) {
  Products products;
  const int64_t row_bytes = quantised_row_bytes(g.K);
  const int8_t* const x = coarse_row(g.x + part.t * row_bytes, g.K).values + part.k;
  for (int64_t span = 0; span < part.spans; span += COARSE_SPANS)
    multiply_spans<I, J>(x + span * SPAN, row_bytes, panel.spans + span, least(part.spans - span, COARSE_SPANS),
                         products.of[span / COARSE_SPANS]);
  static_assert(STRETCHES == 2);
  if (part.spans > COARSE_SPANS) add_to_y<J, 2>(g, part, products, panel);
  else add_to_y<J, 1>(g, part, products, panel);
}

inline void multiply_panel(const PackedGemm& g, Part part, const Panel& panel) {
  int64_t configured = 0;
  for (part.t = 0; part.t < g.T; part.t += ROWS) {
    part.rows = least(g.T - part.t, ROWS);
    if (part.rows != configured) configure(shapes(part.rows));
    configured = part.rows;
    const bool wide = part.columns > PACKED_ROWS;
    if (part.rows > TILE_LINES) wide ? multiply_block<2, 2>(g, part, panel) : multiply_block<2, 1>(g, part, panel);
    else wide ? multiply_block<1, 2>(g, part, panel) : multiply_block<1, 1>(g, part, panel);
  }
}

// What a sum of nothing gives.
inline void store_bias(const PackedGemm& g) {
  for (int64_t t = 0; t < g.T; t++)
    for (int64_t n = 0; n < g.N; n++) g.y[t * g.ldy + n] = g.bias ? g.bias[n] : 0;
}

// Along K first, so that the part of x that all columns need stays in the second cache.
template <class F>
inline void coarse_gemm(const PackedGemm& g) {
  constexpr int64_t tile_k = F::SPANS * SPAN, tile_bytes = sizeof(typename F::Tile);
  const int64_t tile_row_bytes = (g.K + tile_k - 1) / tile_k * tile_bytes;
  if (g.K == 0) return store_bias(g);
  for (int64_t k = 0; k < g.K; k += PANEL_K)
    for (int64_t n = 0; n < g.N; n += COLUMNS) {
      Panel panel;
      const int64_t spans = spans_of(least(g.K - k, PANEL_K)), columns = least(g.N - n, COLUMNS);
      for (int64_t j = 0; j * PACKED_ROWS < columns; j++)
        for (int64_t span = 0; span < spans; span += COARSE_SPANS)
          fill_panel<F>(g.w + (n / PACKED_ROWS + j) * tile_row_bytes + (k / SPAN + span) / F::SPANS * tile_bytes,
                        least(spans - span, COARSE_SPANS), &panel.spans[span][j], 2, panel.steps[span / COARSE_SPANS][j]);
      multiply_panel(g, {0, 0, n, columns, k, spans}, panel);
    }
  release();
}

} // namespace

void coarse_gemm_q4_0(const PackedGemm& g) { coarse_gemm<Q4_0>(g); }
void coarse_gemm_q4_1(const PackedGemm& g) { coarse_gemm<Q4_1>(g); }
void coarse_gemm_q5_0(const PackedGemm& g) { coarse_gemm<Q5_0>(g); }
void coarse_gemm_q5_1(const PackedGemm& g) { coarse_gemm<Q5_1>(g); }
void coarse_gemm_q8_0(const PackedGemm& g) { coarse_gemm<Q8_0>(g); }
void coarse_gemm_q2_k(const PackedGemm& g) { coarse_gemm<Q2_K>(g); }
void coarse_gemm_q3_k(const PackedGemm& g) { coarse_gemm<Q3_K>(g); }
void coarse_gemm_q4_k(const PackedGemm& g) { coarse_gemm<Q4_K>(g); }
void coarse_gemm_q5_k(const PackedGemm& g) { coarse_gemm<Q5_K>(g); }
void coarse_gemm_q6_k(const PackedGemm& g) { coarse_gemm<Q6_K>(g); }
void coarse_gemm_iq4_nl(const PackedGemm& g) { coarse_gemm<IQ4_NL>(g); }
void coarse_gemm_iq4_xs(const PackedGemm& g) { coarse_gemm<IQ4_XS>(g); }
void coarse_gemm_mxfp4(const PackedGemm& g) { coarse_gemm<MXFP4>(g); }
void coarse_gemm_iq8(const PackedGemm& g) { coarse_gemm<IQ8>(g); }

} // namespace quern::amx
