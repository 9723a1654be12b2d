// The product of superblock rows of x with packed weights (kernels.h, superblock_gemm): weights are made int8 a panel at a time,
// which stays in the caches while all rows of x pass; both factors have one scale for every 256 along k. Where tiles hold what
// a panel would, a few rows read them where they are. The instruction set says, before, whether panels are UNSIGNED_PANEL, how
// long they are (PANEL_K) and how many rows are a few (TILES_ROWS), and defines multiply.
#pragma once
#include "declare-superblock.h"
#include "superblock-panel.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t COLUMNS = 2 * PACKED_ROWS; // of y at a time
constexpr int64_t STRETCHES = PANEL_K / SUPERBLOCK;

struct Panel {
  PanelSpan spans[PANEL_K / SPAN][2];
  float steps[STRETCHES][2][PACKED_ROWS];
};
static_assert(sizeof(Panel) <= PANEL_BYTES);

// What is multiplied: rows [t, t + rows) of x, columns [n, n + columns) of y and [k, k + spans · 64) along K.
struct Part {
  int64_t t, rows, n, columns, k, spans;
};

// Where a part's weights are read. Span s, counted from where the part begins, of column of registers j: its LINES lines, and the
// steps of its 256 along k.
struct OfPanel {
  static constexpr bool is_unsigned = UNSIGNED_PANEL;
  const Panel& panel;
  const Line* lines(int64_t s, int j) const { return panel.spans[s][j].lines; }
  Floats steps(int64_t s, int j) const { return load(panel.steps[s / SUPERBLOCK_SPANS][j]); }
};
struct OfTiles {
  static constexpr bool is_unsigned = false;
  const uint8_t* tiles; // of q8_0, whose blocks share scales
  int64_t row_bytes;
  const TileQ8_0& tile(int64_t s, int j) const {
    return reinterpret_cast<const TileQ8_0*>(tiles + j * row_bytes)[s];
  }
  const Line* lines(int64_t s, int j) const { return tile(s, j).q[0]; }
  Floats steps(int64_t s, int j) const { return Q8_0(&tile(s, j), 0).scale<0, 0>(); }
};
static_assert(sizeof(TileQ8_0::q) == LINES * sizeof(Line));

// Adds to columns [n, n + columns) of all rows of y their products with the part's weights; to zero where k is 0, and with the
// bias at the end of K. `part` has the first of its rows still to be chosen.
template <class W>
void multiply(const PackedGemm& g, Part part, const W& w);

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// What a sum of nothing gives.
inline void store_bias(const PackedGemm& g) {
  for (int64_t t = 0; t < g.T; t++)
    for (int64_t n = 0; n < g.N; n++) g.y[t * g.ldy + n] = g.bias ? g.bias[n] : 0;
}

// The weights of columns [n, n + columns) along [k, k + spans · 64), from `tiles` on, laid out.
template <class F>
inline void fill(const uint8_t* tiles, int64_t row_bytes, const Part& part, Panel& panel) {
  for (int64_t j = 0; j * PACKED_ROWS < part.columns; j++)
    for (int64_t span = 0; span < part.spans; span += SUPERBLOCK_SPANS)
      fill_panel<F, UNSIGNED_PANEL>(tiles + j * row_bytes + span / F::SPANS * int64_t(sizeof(typename F::Tile)),
                                    least(part.spans - span, SUPERBLOCK_SPANS), &panel.spans[span][j], 2,
                                    panel.steps[span / SUPERBLOCK_SPANS][j]);
}

// Along K first, so that the part of x that all columns need stays in the second cache.
template <class F>
inline void superblock_gemm(const PackedGemm& g) {
  constexpr int64_t tile_k = F::SPANS * SPAN, tile_bytes = sizeof(typename F::Tile);
  const int64_t tile_row_bytes = (g.K + tile_k - 1) / tile_k * tile_bytes;
  if (g.K == 0) return store_bias(g);
  Panel& panel = *static_cast<Panel*>(g.panel);
  for (int64_t k = 0; k < g.K; k += PANEL_K)
    for (int64_t n = 0; n < g.N; n += COLUMNS) {
      const Part part{0, 0, n, least(g.N - n, COLUMNS), k, spans_of(least(g.K - k, PANEL_K))};
      const uint8_t* const tiles = g.w + n / PACKED_ROWS * tile_row_bytes + k / SPAN / F::SPANS * tile_bytes;
      if constexpr (same_type<typename F::Tile, TileQ8_0>)
        if (g.shares_scales && g.T <= TILES_ROWS) {
          multiply(g, part, OfTiles{tiles, tile_row_bytes});
          continue;
        }
      fill<F>(tiles, tile_row_bytes, part, panel);
      multiply(g, part, OfPanel{panel});
    }
}

} // namespace

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) \
  void superblock_gemm_##name(const PackedGemm& g) { superblock_gemm<NAME>(g); }
#include "../generated/formats.inc"

} // namespace quern::QUERN_ISA
