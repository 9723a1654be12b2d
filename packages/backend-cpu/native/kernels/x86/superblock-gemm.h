// The product of superblock rows of x with packed weights (kernels.h, superblock_gemm). Weights become int8, one panel at a
// time; the panel stays in the cache while all rows of x pass. x and w have one scale per 256 values along k. Tiles of q8_0
// with shared scales have a panel's contents: ≤ TILES_ROWS rows read them in place. The including file defines
// UNSIGNED_PANEL, PANEL_K (the depth of a panel), TILES_ROWS and multiply.
#pragma once
#include "declare-superblock.h"
#include "superblock-panel.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t COLUMNS = 2 * PACKED_ROWS; // columns of y per step
constexpr int64_t STRETCHES = PANEL_K / SUPERBLOCK;

struct Panel {
  PanelSpan spans[PANEL_K / SPAN][2];
  float steps[STRETCHES][2][PACKED_ROWS];
};
static_assert(sizeof(Panel) <= PANEL_BYTES);

// Ranges of a product: rows [t, t + rows) of x, columns [n, n + columns) of y, [k, k + spans · 64) along K.
struct Part {
  int64_t t, rows, n, columns, k, spans;
};

// Sources of a part's weights. lines(s, j): the LINES lines of span s (from the start of the part), column of registers j.
// steps(s, j): the scales of its 256 values along k.
struct OfPanel {
  static constexpr bool is_unsigned = UNSIGNED_PANEL;
  const Panel& panel;
  const Line* lines(int64_t s, int j) const { return panel.spans[s][j].lines; }
  Floats steps(int64_t s, int j) const { return load(panel.steps[s / SUPERBLOCK_SPANS][j]); }
};
struct OfTiles {
  static constexpr bool is_unsigned = false;
  const uint8_t* tiles; // q8_0 with shared scales
  int64_t row_bytes;
  const TileQ8_0& tile(int64_t s, int j) const {
    return reinterpret_cast<const TileQ8_0*>(tiles + j * row_bytes)[s];
  }
  const Line* lines(int64_t s, int j) const { return tile(s, j).q[0]; }
  Floats steps(int64_t s, int j) const { return Q8_0(&tile(s, j), 0).scale<0, 0>(); }
};
static_assert(sizeof(TileQ8_0::q) == LINES * sizeof(Line));

// Adds the products with the part's weights to columns [n, n + columns) of all rows of y; k = 0: to zero; end of K: adds
// the bias. multiply sets `part.t` and `part.rows`.
template <class W>
void multiply(const PackedGemm& g, Part part, const W& w);

inline int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

// K = 0: y = bias.
inline void store_bias(const PackedGemm& g) {
  for (int64_t t = 0; t < g.T; t++)
    for (int64_t n = 0; n < g.N; n++) g.y[t * g.ldy + n] = g.bias ? g.bias[n] : 0;
}

// Lays out the weights of columns [n, n + columns), [k, k + spans · 64), from `tiles` on.
template <class F>
inline void fill(const uint8_t* tiles, int64_t row_bytes, const Part& part, Panel& panel) {
  for (int64_t j = 0; j * PACKED_ROWS < part.columns; j++)
    for (int64_t span = 0; span < part.spans; span += SUPERBLOCK_SPANS)
      fill_panel<F, UNSIGNED_PANEL>(tiles + j * row_bytes + span / F::SPANS * int64_t(sizeof(typename F::Tile)),
                                    least(part.spans - span, SUPERBLOCK_SPANS), &panel.spans[span][j], 2,
                                    panel.steps[span / SUPERBLOCK_SPANS][j]);
}

// k is the outer loop: the part of x for all columns stays in L2.
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
