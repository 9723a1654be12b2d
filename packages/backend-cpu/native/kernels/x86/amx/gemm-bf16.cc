// Products of many rows of x in bf16 with weights of 16 bits on AMX. Weights are laid out as tiles a panel at a time, which
// stays in the first cache while all rows of x pass. docs/performance.md counts the cycles.
//
// An element of y is its bias, then the sums of 32 products along k, added one after the other (tile.h). Between panels it
// waits in y as it is: neither the size of a panel nor how rows and columns were split shows in its bits.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "tile.h"

namespace quern::amx {
namespace {

// Registers: sums 0 … 3 (2 · i + j), rows of x 4 + i, columns of w 6 + j.
constexpr int X = 4, W = 6;
constexpr int64_t ROWS = 2 * TILE_LINES, COLUMNS = 2 * LANES; // of y at a time
constexpr int64_t STEP = 2 * LANES;                           // along k: a line of x
// Along k at a time: a panel of 16 KB, as much of x and 4 KB of y fit the first cache.
constexpr int64_t PANEL_K = 256;

// 16 columns of w, a step along k: line q holds k = 2q and 2q + 1 of each.
struct alignas(64) Tile {
  float pairs[TILE_LINES][LANES];
};
struct Panel {
  Tile steps[PANEL_K / STEP][2];
};

struct Product {
  const uint16_t* x; // [T, K], rows of ldx
  int64_t ldx;
  const uint16_t* w; // [N, K], rows of ldw
  int64_t ldw;
  const float* bias; // [N], or null
  float* y;          // [T, N], rows of ldy
  int64_t ldy, T, N, K;
};

// What is multiplied: rows [t, t + rows) of x, columns [n, n + columns) of y and [k, k + depth) along K.
struct Part {
  int64_t t, rows, n, columns, k, depth;
};

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// The first n ≤ 32 words, then zeros.
inline __m512i load_words(const uint16_t* p, int64_t n) {
  return _mm512_maskz_loadu_epi16(__mmask32((uint64_t(1) << n) - 1), p);
}

// A step of a row of w as bf16, of n weights and then zeros.
struct Bf16Weights {
  static Floats pairs(const uint16_t* w, int64_t n) { return _mm512_castsi512_ps(load_words(w, n)); }
};
struct F16Weights {
  static Floats pairs(const uint16_t* w, int64_t n) {
    const Floats low = load(w, least(n, LANES)), high = n > LANES ? load(w + LANES, n - LANES) : set(0);
    return Floats(_mm512_cvtne2ps_pbh(high, low)); // nothing in f16 is denormal in f32
  }
};

// Lines beyond `columns` repeat the last: no tile has them.
template <class Weights>
inline void fill_tile(const uint16_t* w, int64_t ldw, int64_t columns, int64_t n, Tile& tile) {
  Floats pairs[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) pairs[i] = Weights::pairs(w + least(i, columns - 1) * ldw, n);
  transpose(pairs);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) _mm512_store_ps(tile.pairs[i], pairs[i]);
}

template <class Weights>
inline void fill_panel(const Product& p, const Part& part, Panel& panel) {
  for (int64_t j = 0; j * LANES < part.columns; j++) {
    const uint16_t* const w = p.w + (part.n + j * LANES) * p.ldw + part.k;
    const int64_t columns = least(part.columns - j * LANES, LANES);
    for (int64_t k = 0; k < part.depth; k += STEP)
      fill_tile<Weights>(w + k, p.ldw, columns, least(part.depth - k, STEP), panel.steps[k / STEP][j]);
  }
}

// Tiles for `rows` rows of x and `columns` columns of y.
inline TileConfig shapes(int64_t rows, int64_t columns) {
  TileConfig config;
  const int64_t upper = least(rows, TILE_LINES), left = least(columns, LANES);
  const int lines[] = {int(upper), int(rows - upper)}, bytes[] = {int(4 * left), int(4 * (columns - left))};
  for (int i = 0; i < 2 && lines[i]; i++) {
    config.set(X + i, lines[i]);
    for (int j = 0; j < 2 && bytes[j]; j++) config.set(2 * i + j, lines[i], bytes[j]);
  }
  for (int j = 0; j < 2 && bytes[j]; j++) config.set(W + j, TILE_LINES, bytes[j]);
  return config;
}

// Sums from where the last panel left them; from the bias, the same line for all rows, at the first.
template <int sum>
inline void begin(const Product& p, const Part& part, int64_t i, int64_t j) {
  const int64_t n = part.n + j * LANES;
  if (part.k > 0) load<sum>(p.y + (part.t + i * TILE_LINES) * p.ldy + n, p.ldy * int64_t(sizeof(float)));
  else if (p.bias) load<sum>(p.bias + n, 0);
  else zero<sum>();
}
template <int sum>
inline void end(const Product& p, const Part& part, int64_t i, int64_t j) {
  store<sum>(p.y + (part.t + i * TILE_LINES) * p.ldy + part.n + j * LANES, p.ldy * int64_t(sizeof(float)));
}

// I · 16 rows of x, `row_bytes` apart, and J · 16 columns.
template <int I, int J>
inline void add_step(const uint16_t* x, int64_t row_bytes, const Tile (&w)[2]) {
  load<W>(w[0].pairs, TILE_LINE);
  load<X>(x, row_bytes);
  add_products_bf16<0, X, W>();
  if constexpr (J == 2) {
    load<W + 1>(w[1].pairs, TILE_LINE);
    add_products_bf16<1, X, W + 1>();
  }
  if constexpr (I == 2) {
    load<X + 1>(x + TILE_LINES * row_bytes / int64_t(sizeof *x), row_bytes);
    add_products_bf16<2, X + 1, W>();
  }
  if constexpr (I == 2 && J == 2) add_products_bf16<3, X + 1, W + 1>();
}

// The last step where K is no multiple of it: a tile takes whole lines, so x is copied and filled up with zeros.
template <int I, int J>
inline void add_rest(const Product& p, const Part& part, const uint16_t* x, int64_t n, const Tile (&w)[2]) {
  alignas(64) uint16_t rows[ROWS][STEP];
  for (int64_t r = 0; r < part.rows; r++) _mm512_store_si512(rows[r], load_words(x + r * p.ldx, n));
  add_step<I, J>(rows[0], sizeof rows[0], w);
}

template <int I, int J>
void multiply_block(const Product& p, const Part& part, const Panel& panel) {
  const uint16_t* const x = p.x + part.t * p.ldx + part.k;
  begin<0>(p, part, 0, 0);
  if constexpr (J == 2) begin<1>(p, part, 0, 1);
  if constexpr (I == 2) begin<2>(p, part, 1, 0);
  if constexpr (I == 2 && J == 2) begin<3>(p, part, 1, 1);
  int64_t k = 0;
  for (; k + STEP <= part.depth; k += STEP)
    add_step<I, J>(x + k, p.ldx * int64_t(sizeof *x), panel.steps[k / STEP]);
  if (k < part.depth) add_rest<I, J>(p, part, x + k, part.depth - k, panel.steps[k / STEP]);
  end<0>(p, part, 0, 0);
  if constexpr (J == 2) end<1>(p, part, 0, 1);
  if constexpr (I == 2) end<2>(p, part, 1, 0);
  if constexpr (I == 2 && J == 2) end<3>(p, part, 1, 1);
}

inline void multiply_panel(const Product& p, Part part, const Panel& panel) {
  const bool wide = part.columns > LANES;
  int64_t configured = 0;
  for (part.t = 0; part.t < p.T; part.t += ROWS) {
    part.rows = least(p.T - part.t, ROWS);
    if (part.rows != configured) configure(shapes(part.rows, part.columns));
    configured = part.rows;
    if (part.rows > TILE_LINES) wide ? multiply_block<2, 2>(p, part, panel) : multiply_block<2, 1>(p, part, panel);
    else wide ? multiply_block<1, 2>(p, part, panel) : multiply_block<1, 1>(p, part, panel);
  }
}

// What a sum of nothing gives.
inline void store_bias(const Product& p) {
  for (int64_t t = 0; t < p.T; t++)
    for (int64_t n = 0; n < p.N; n++) p.y[t * p.ldy + n] = p.bias ? p.bias[n] : 0;
}

// Along K first, so that the part of x that all columns need stays in the second cache.
template <class Weights>
inline void multiply(const Product& p) {
  if (p.K == 0) return store_bias(p);
  for (int64_t k = 0; k < p.K; k += PANEL_K)
    for (int64_t n = 0; n < p.N; n += COLUMNS) {
      const Part part = {0, 0, n, least(p.N - n, COLUMNS), k, least(p.K - k, PANEL_K)};
      Panel panel;
      fill_panel<Weights>(p, part, panel);
      multiply_panel(p, part, panel);
    }
  release();
}

} // namespace

void gemm_of_bf16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                  int64_t T, int64_t N, int64_t K) {
  multiply<Bf16Weights>({x, ldx, w, ldw, bias, y, ldy, T, N, K});
}

void gemm_of_bf16_f16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                      int64_t ldy, int64_t T, int64_t N, int64_t K) {
  multiply<F16Weights>({x, ldx, w, ldw, bias, y, ldy, T, N, K});
}

} // namespace quern::amx
