#include "ops/product.h"

namespace quern {

namespace {

// One of the products q, k, v.
struct Projection {
  const Matrix& w;
  const float* bias;
  float* y;
};

Projection projection(Call& call, const Floats& x, int w_index, int bias_index, int y_index) {
  const Matrix& w = call.matrix(w_index);
  const Floats y = call.floats(y_index, 2);
  call.need(w.width() == x.shape[1] && y.shape[0] == x.shape[0] && y.shape[1] == w.rows(),
            "x must be [T, K], weights [N, K] and outputs [T, N]");
  return {w, call.vector(bias_index, w.rows()), y.data};
}

} // namespace

void QkvLinearOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [T, K]
  const Projection projections[] = {
      projection(call, x, Q, Q_BIAS, YQ),
      projection(call, x, K, K_BIAS, YK),
      projection(call, x, V, V_BIAS, YV),
  };
  const int64_t T = x.shape[0], width = x.shape[1];
  if (T == 0) return;
  const Rows form(T, call.flag(BATCH_INVARIANT));
  const Needs needs(call.kernels, form, {&projections[0].w, &projections[1].w, &projections[2].w});
  const Tiling tiling(T, width, needs);
  call.scratch.reserve(tiling.panel_floats, Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  int64_t chunks = 0;
  for (const Projection& p : projections) chunks += tiling.chunks(p.w.rows());
  call.pool.run(chunks, [&](int64_t chunk, int thread) {
    const Projection* p = projections;
    for (; chunk >= tiling.chunks(p->w.rows()); p++) chunk -= tiling.chunks(p->w.rows());
    const int64_t N = p->w.rows(), first = chunk * tiling.chunk, end = std::min(N, first + tiling.chunk);
    const Product product(call.kernels, rows, p->w, p->bias, form);
    product.columns(tiling, first, end, p->y + first, N, call.scratch.of(thread));
  });
}

} // namespace quern
