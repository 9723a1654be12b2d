#include "ops/product.h"

namespace quern {

namespace {

// Both projections of a range of columns, for all rows of x, then the activation.
struct GatedProduct {
  const Kernels& kernels;
  const Product& gates;
  const Product& ups;
  const Tiling& tiling;

  static int64_t scratch_floats(const Tiling& tiling) { return 2 * (tiling.panel_floats + tiling.panel * tiling.rows); }

  // Columns [first, end), at most a panel of them, into y [T, F].
  void columns(int64_t first, int64_t end, const Floats& y, float* scratch) const {
    const int64_t T = y.shape[0], width = end - first;
    float* const up_panel = scratch + tiling.panel_floats;
    float* const g = up_panel + tiling.panel_floats; // [rows, width]
    float* const u = g + tiling.panel * tiling.rows;
    const void* gate_rows = gates.load(first, end, scratch);
    const void* up_rows = ups.load(first, end, up_panel);
    for (int64_t t = 0; t < T; t += tiling.rows) {
      const int64_t rows = std::min(tiling.rows, T - t);
      gates.multiply(gate_rows, first, end, t, rows, g, width);
      ups.multiply(up_rows, first, end, t, rows, u, width);
      for (int64_t r = 0; r < rows; r++)
        kernels.swiglu(g + r * width, u + r * width, y.row(t + r) + first, width);
    }
  }
};

} // namespace

void GateUpSwigluOp::run(Call& call) {
  const Floats x = call.floats(X, 2);     // [T, K]
  const Weight& gate = call.matrix(GATE); // [F, K]
  const Weight& up = call.matrix(UP);     // [F, K]
  const Floats y = call.floats(Y, 2);     // [T, F]
  const int64_t T = x.shape[0], K = gate.width(), F = gate.rows();
  call.need(x.shape[1] == K && up.width() == K && up.rows() == F && y.shape[0] == T && y.shape[1] == F,
            "x must be [T, K], gate and up [F, K] and y [T, F]");
  if (T == 0) return;
  const Needs needs(call.kernels, T, {&gate, &up});
  const Tiling tiling(T, K, needs);
  call.scratch.reserve(GatedProduct::scratch_floats(tiling), Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  const Product gates(call.kernels, rows, gate, nullptr), ups(call.kernels, rows, up, nullptr);
  const GatedProduct product{call.kernels, gates, ups, tiling};
  call.pool.run(tiling.chunks(F), [&](int64_t chunk, int thread) {
    const int64_t end = std::min(F, (chunk + 1) * tiling.chunk);
    for (int64_t n = chunk * tiling.chunk; n < end; n += tiling.panel)
      product.columns(n, std::min(end, n + tiling.panel), y, call.scratch.of(thread));
  });
}

} // namespace quern
