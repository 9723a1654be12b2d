#include "ops/gated-product.h"

namespace quern {

void GateUpSwigluOp::run(Call& call) {
  const Floats x = call.floats(X, 2);     // [T, K]
  const Matrix& gate = call.matrix(GATE); // [F, K]
  const Matrix& up = call.matrix(UP);     // [F, K]
  const Floats y = call.floats(Y, 2);     // [T, F]
  const int64_t T = x.shape[0], K = gate.width(), F = gate.rows();
  call.need(x.shape[1] == K && up.width() == K && up.rows() == F && y.shape[0] == T && y.shape[1] == F,
            "x must be [T, K], gate and up [F, K] and y [T, F]");
  if (y.count == 0) return;
  const Rows form(T, call.flag(BATCH_INVARIANT));
  const Needs needs(call.kernels, form, {&gate, &up});
  const Tiling tiling(T, K, needs);
  call.scratch.reserve(GatedProduct::scratch_floats(tiling), Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  const Product gates(call.kernels, rows, gate, nullptr, form), ups(call.kernels, rows, up, nullptr, form);
  const GatedProduct product{call.kernels, gates, ups, tiling};
  call.pool.run(tiling.chunks(F), [&](int64_t chunk, int thread) {
    const int64_t end = std::min(F, (chunk + 1) * tiling.chunk);
    for (int64_t n = chunk * tiling.chunk; n < end; n += tiling.panel)
      product.columns(n, std::min(end, n + tiling.panel), {0, T}, y, call.scratch.of(thread));
  });
}

} // namespace quern
