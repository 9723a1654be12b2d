// Products of many bf16 rows of x with 16-bit weights on AMX. docs/performance.md counts the cycles.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "tile.h"

namespace quern::amx {

// Depth of a panel along k: a panel of 16 KB, as many bytes of x and 4 KB of y fit L1.
constexpr int64_t PANEL_K = 256;

} // namespace quern::amx

#include "../bf16-gemm.h"

namespace quern::amx {
namespace {

// Registers: sums 0 … 3 (2 · i + j), rows of x 4 + i, columns of w 6 + j.
constexpr int X = 4, W = 6;
constexpr int64_t ROWS = 2 * TILE_LINES; // of y per step
static_assert(LINES == TILE_LINES);

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

// Sums from y, as the previous panel left them; first panel: the bias, equal for all rows.
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

// I · 16 rows of x, `row_bytes` apart, with J · 16 columns.
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

// The last step if K is not a multiple of STEP. A tile loads whole lines, so x is copied and zero-padded.
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

void multiply_panel(const Product& p, Part part, const Panel& panel) {
  const bool wide = part.columns > LANES;
  int64_t configured = 0;
  for (part.t = 0; part.t < p.T; part.t += ROWS) {
    part.rows = least(p.T - part.t, ROWS);
    if (part.rows != configured) configure(shapes(part.rows, part.columns));
    configured = part.rows;
    if (part.rows > TILE_LINES) wide ? multiply_block<2, 2>(p, part, panel) : multiply_block<2, 1>(p, part, panel);
    else wide ? multiply_block<1, 2>(p, part, panel) : multiply_block<1, 1>(p, part, panel);
  }
  release();
}

} // namespace
} // namespace quern::amx
