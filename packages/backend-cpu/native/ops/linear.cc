#include "ops/product.h"

namespace quern {

void LinearOp::run(Call& call) {
  const Floats x = call.floats(X, 2);  // [T, K]
  const Weight& w = call.matrix(W);    // [N, K]
  const Floats y = call.floats(Y, 2);  // [T, N]
  const int64_t T = x.shape[0], K = w.width(), N = w.rows();
  const float* bias = call.vector(BIAS, N);
  call.need(x.shape[1] == K && y.shape[0] == T && y.shape[1] == N, "x must be [T, K], w [N, K] and y [T, N]");
  if (T == 0) return;
  const Needs needs(call.kernels, T, {&w});
  const Tiling tiling(T, K, needs);
  call.scratch.reserve(tiling.panel_floats, Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  const Product product(call.kernels, rows, w, bias);
  call.pool.run(tiling.chunks(N), [&](int64_t chunk, int thread) {
    const int64_t first = chunk * tiling.chunk, end = std::min(N, first + tiling.chunk);
    product.columns(tiling, first, end, y.data + first, N, call.scratch.of(thread));
  });
}

} // namespace quern
