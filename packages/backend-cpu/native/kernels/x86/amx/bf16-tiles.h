// Products of bf16 rows of x with weights laid out as bf16, on tiles. Sums are f32. A factor may have two parts: high =
// bf16(v), low = bf16(v − high); then a product is low · high + high · high + high · low.
//
// An element of y is its bias, then the sums of products along k, added in order: neither the panel size nor the split of rows
// and columns changes its bits. docs/performance.md explains the sizes.
#pragma once
#include "../bf16-operands.h"
#include "tile.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t COLUMNS = 2 * LANES;   // of y per step
constexpr int64_t ROWS = 2 * TILE_LINES; // of y per step
static_assert(LINES == TILE_LINES);

// The weights of 32 columns in 32 KB: they stay in L1; x streams past, from L2.
template <int PARTS>
struct Panel {
  static constexpr int64_t DEPTH = 512 / PARTS;
  Tile steps[DEPTH / STEP][PARTS][2];
};

// Sums of 32 × 32 elements of y: the registers 0 … 3.
struct alignas(64) Sums {
  float tiles[4][TILE_LINES][LANES];
};

// Memory of one call. Sums between panels lie here and not in y: rows of y are often 4096 bytes apart, in the same set of the
// cache.
constexpr int64_t GROUP_ROWS = 512, GROUP_COLUMNS = 256;
template <int PARTS>
struct Scratch {
  Panel<PARTS> panel;
  Sums sums[GROUP_ROWS / ROWS][GROUP_COLUMNS / COLUMNS];
  float bias[COLUMNS];
};
static_assert(sizeof(Scratch<2>) <= PANEL_BYTES);

// x [T, K]: rows of `stride` words; the low parts are `low` words after the high parts. K is padded with zeros to whole steps.
struct X {
  const uint16_t* high;
  int64_t stride, low;
};

struct Product {
  X x;
  const float* bias; // [N] or null
  float* y;          // [T, N], row stride ldy
  int64_t ldy, T, N, K;
};

// Ranges of a product: rows [t, t + rows) of x, columns [n, n + columns) of y, [k, k + depth) along K.
struct Part {
  int64_t t, rows, n, columns, k, depth;
};

// Registers: sums 0 … 3 (2 · i + j), rows of x X_TILE + i, columns of w W_TILE + j.
constexpr int X_TILE = 4, W_TILE = 6;

// Tiles for `rows` rows of x.
inline TileConfig shapes(int64_t rows) {
  TileConfig config;
  const int lines[] = {int(least(rows, TILE_LINES)), int(rows - least(rows, TILE_LINES))};
  for (int i = 0; i < 2 && lines[i]; i++) {
    config.set(X_TILE + i, lines[i]);
    for (int j = 0; j < 2; j++) config.set(2 * i + j, lines[i]);
  }
  for (int j = 0; j < 2; j++) config.set(W_TILE + j, TILE_LINES);
  return config;
}

// I · 16 rows: f for the register of each tile of sums.
template <int I, class F>
inline void each_sum(F f) {
  f.template operator()<0>(), f.template operator()<1>();
  if constexpr (I == 2) f.template operator()<2>(), f.template operator()<3>();
}

// Sums as the previous panel left them; first panel: the bias, equal for all rows.
template <int I>
inline void begin(const Part& part, const Sums& sums, const float* bias) {
  each_sum<I>([&]<int sum> { part.k > 0 ? load<sum>(sums.tiles[sum], TILE_LINE) : load<sum>(bias + sum % 2 * LANES, 0); });
}
template <int I>
inline void end(Sums& sums) {
  each_sum<I>([&]<int sum> { store<sum>(sums.tiles[sum], TILE_LINE); });
}

// x passes once: `stream` keeps it from displacing the panel in L1.
template <int I>
inline void load_x(const uint16_t* x, int64_t stride) {
  stream<X_TILE>(x, stride * int64_t(sizeof *x));
  if constexpr (I == 2) stream<X_TILE + 1>(x + TILE_LINES * stride, stride * int64_t(sizeof *x));
}
inline void load_w(const Tile (&w)[2]) {
  load<W_TILE>(w[0].pairs, TILE_LINE);
  load<W_TILE + 1>(w[1].pairs, TILE_LINE);
}
template <int I>
inline void add_products() {
  each_sum<I>([&]<int sum> { add_products_bf16<sum, X_TILE + sum / 2, W_TILE + sum % 2>(); });
}

// One step along k of I · 16 rows of x with 32 columns.
template <int I, int X_PARTS, int W_PARTS>
inline void add_step(const X& x, int64_t at, const Tile (&w)[W_PARTS][2]) {
  if constexpr (X_PARTS == 2) {
    load_x<I>(x.high + x.low + at, x.stride);
    load_w(w[0]);
    add_products<I>();
    load_x<I>(x.high + at, x.stride);
  } else {
    load_x<I>(x.high + at, x.stride);
    load_w(w[0]);
  }
  add_products<I>();
  if constexpr (W_PARTS == 2) {
    load_w(w[1]);
    add_products<I>();
  }
}

// A group's rows of y, whole: pieces of rows would cost the cache twice as much.
template <int PARTS>
inline void store_group(const Product& p, const Part& group, const Scratch<PARTS>& s) {
  for (int64_t r = 0; r < group.rows; r++) {
    float* const y = p.y + (group.t + r) * p.ldy + group.n;
    for (int64_t n = 0; n < group.columns; n += LANES) {
      const Sums& sums = s.sums[r / ROWS][n / COLUMNS];
      const float* const row = sums.tiles[r % ROWS / TILE_LINES * 2 + n % COLUMNS / LANES][r % TILE_LINES];
      store(y + n, _mm512_load_ps(row), least(group.columns - n, LANES));
    }
  }
}

template <int I, int X_PARTS, int W_PARTS>
void multiply_rows(const Product& p, const Part& part, Scratch<W_PARTS>& s, Sums& sums) {
  const int64_t at = part.t * p.x.stride + part.k;
  begin<I>(part, sums, s.bias);
  for (int64_t k = 0; k < part.depth; k += STEP) add_step<I, X_PARTS, W_PARTS>(p.x, at + k, s.panel.steps[k / STEP]);
  end<I>(sums);
}

// Configures the tiles for `rows` rows of x, unless they are.
inline void configure_for(int64_t rows, int64_t& configured) {
  if (rows != configured) configure(shapes(rows));
  configured = rows;
}

// Rows [t, t + rows) with the panel, number `column` of a group.
template <int X_PARTS, int W_PARTS>
void multiply_panel(const Product& p, Part part, int64_t column, Scratch<W_PARTS>& s, int64_t& configured) {
  const int64_t end = part.t + part.rows;
  for (auto* sums = s.sums; part.t < end; part.t += ROWS, sums++) {
    part.rows = least(end - part.t, ROWS);
    configure_for(part.rows, configured);
    if (part.rows > TILE_LINES) multiply_rows<2, X_PARTS>(p, part, s, (*sums)[column]);
    else multiply_rows<1, X_PARTS>(p, part, s, (*sums)[column]);
  }
}

// K = 0: y = bias.
inline void store_bias(const Product& p) {
  for (int64_t t = 0; t < p.T; t++)
    for (int64_t n = 0; n < p.N; n++) p.y[t * p.ldy + n] = p.bias ? p.bias[n] : 0;
}

inline void copy_bias(const Product& p, const Part& part, float* bias) {
  for (int64_t j = 0; j < COLUMNS; j++) bias[j] = p.bias && j < part.columns ? p.bias[part.n + j] : 0;
}

// The next panel of a group: the next columns, else the next depth. None: columns = 0.
template <int PARTS>
inline Part next_panel(const Product& p, const Part& group, Part part) {
  part.n += COLUMNS;
  if (part.n >= group.n + group.columns) part.n = group.n, part.k += Panel<PARTS>::DEPTH;
  part.columns = part.k < p.K ? least(group.n + group.columns - part.n, COLUMNS) : 0;
  part.depth = least(p.K - part.k, Panel<PARTS>::DEPTH);
  return part;
}

// A group of rows and columns of y, whose sums fit the scratch. k is the outer loop: the part of x for all columns stays in L2.
template <int X_PARTS, int W_PARTS, class Weights>
inline void multiply_group(const Product& p, const Part& group, const Weights& weights, Scratch<W_PARTS>& s, int64_t& configured) {
  Part part = {group.t, group.rows, group.n, least(group.columns, COLUMNS), 0, least(p.K, Panel<W_PARTS>::DEPTH)};
  while (part.columns) {
    const Part next = next_panel<W_PARTS>(p, group, part);
    if (part.k == 0) copy_bias(p, part, s.bias);
    weights.fill(part, next, s.panel);
    multiply_panel<X_PARTS>(p, part, (part.n - group.n) / COLUMNS, s, configured);
    part = next;
  }
  store_group(p, group, s);
}

// Weights: fill(part, next, panel) lays out the weights of columns [n, n + columns), [k, k + depth), and prefetches those of `next`.
template <int X_PARTS, int W_PARTS, class Weights>
inline void multiply(const Product& p, const Weights& weights, void* scratch) {
  if (p.K == 0) return store_bias(p);
  int64_t configured = 0; // rows of x
  for (int64_t n = 0; n < p.N; n += GROUP_COLUMNS)
    for (int64_t t = 0; t < p.T; t += GROUP_ROWS) {
      const Part group = {t, least(p.T - t, GROUP_ROWS), n, least(p.N - n, GROUP_COLUMNS), 0, p.K};
      multiply_group<X_PARTS>(p, group, weights, *static_cast<Scratch<W_PARTS>*>(scratch), configured);
    }
  release();
}

} // namespace
} // namespace quern::QUERN_ISA
