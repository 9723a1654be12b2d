#include "ops/gelu.h"
#include "ops/product.h"

namespace quern {

namespace {

// Writes x [T, K], columns permuted to the order of w's columns, to `to` [T, K].
Floats in_order(const Call& call, const Floats& x, std::span<const int32_t> order, float* to) {
  call.split(x.shape[0], x.width(), [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++)
      for (int64_t place = 0; place < x.width(); place++) to[t * x.width() + place] = x.row(t)[order[place]];
  });
  return {to, x.shape, x.rank, x.count};
}

// y [T, N] = x [T, K] · w [N, K]ᵀ + bias [N] or null. Calls finish(values, count) for each thread's part of a row of y,
// while the part is in the cache.
template <class Finish>
void multiply(Call& call, const Floats& given, const Matrix& w, const float* bias, const Floats& y, bool invariant,
              const Finish& finish) {
  const Rows form(given.shape[0], invariant);
  const int64_t T = form.count, K = w.width(), N = w.rows();
  call.need(given.shape[1] == K && y.shape[0] == T && y.shape[1] == N, "x must be [T, K], w [N, K] and y [T, N]");
  if (y.count == 0) return;
  const Needs needs(call.kernels, form, {&w});
  const Tiling tiling(T, K, needs);
  const int64_t prepared = Activations::floats(given, needs);
  const bool ordered = !w.order().empty();
  call.scratch.reserve(tiling.panel_floats, prepared + (ordered ? given.count : 0));
  const Floats x = ordered ? in_order(call, given, w.order(), call.scratch.shared() + prepared) : given;
  const Activations rows(call, x, needs);
  const Product product(call.kernels, rows, w, bias, form);
  call.pool.run(tiling.chunks(N), [&](int64_t chunk, int thread) {
    const int64_t first = chunk * tiling.chunk, end = std::min(N, first + tiling.chunk);
    product.columns(tiling, first, end, y.data + first, N, call.scratch.of(thread));
    for (int64_t t = 0; t < T; t++) finish(y.row(t) + first, end - first);
  });
}

} // namespace

void LinearOp::run(Call& call) {
  const Matrix& w = call.matrix(W);
  multiply(call, call.floats(X, 2), w, call.vector(BIAS, w.rows()), call.floats(Y, 2), call.flag(BATCH_INVARIANT),
           [](float*, int64_t) {});
}

void BiasGeluOp::run(Call& call) {
  const Matrix& w = call.matrix(W);
  const auto gelu = gelu_kernel(call.kernels, call.integer(FORM));
  multiply(call, call.floats(X, 2), w, call.vector(BIAS, w.rows()), call.floats(Y, 2), call.flag(BATCH_INVARIANT),
           [&](float* values, int64_t count) { gelu(values, values, count); });
}

} // namespace quern
