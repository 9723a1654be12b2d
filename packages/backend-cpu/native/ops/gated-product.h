// First half of a gated feed-forward network: SwiGLU of two products.
#pragma once
#include "ops/product.h"

namespace quern {

// Both products of a range of columns, then the activation.
struct GatedProduct {
  const Kernels& kernels;
  const Product& gates;
  const Product& ups;
  const Tiling& tiling;

  static int64_t scratch_floats(const Tiling& tiling) { return 2 * (tiling.panel_floats + tiling.panel * tiling.rows); }

  // Columns [first, end), at most one panel, of `rows` of y [.., F], from the same rows of x.
  void columns(int64_t first, int64_t end, RowRange rows, const Floats& y, float* scratch) const {
    const int64_t width = end - first;
    float* const up_panel = scratch + tiling.panel_floats;
    float* const g = up_panel + tiling.panel_floats; // [rows, width]
    float* const u = g + tiling.panel * tiling.rows;
    const void* gate_rows = gates.load(first, end, scratch);
    const void* up_rows = ups.load(first, end, up_panel);
    float* const shared = gates.decodes() ? up_panel : scratch; // both products use one panel: it stays in the cache
    for (int64_t t = rows.first; t < rows.end; t += tiling.rows) {
      const int64_t count = std::min(tiling.rows, rows.end - t);
      gates.multiply(gate_rows, first, end, t, count, g, width, scratch);
      ups.multiply(up_rows, first, end, t, count, u, width, shared);
      for (int64_t r = 0; r < count; r++)
        kernels.swiglu(g + r * width, u + r * width, y.row(t + r) + first, width);
    }
  }
};

} // namespace quern
