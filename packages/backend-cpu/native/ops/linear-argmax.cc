#include <limits>
#include <vector>

#include "ops/product.h"

namespace quern {

namespace {

struct Best {
  float value = -std::numeric_limits<float>::infinity();
  int64_t index = 0;
};

} // namespace

void LinearArgmaxOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [T, K]
  const Weight& w = call.matrix(W);   // [N, K]
  int32_t* const y = call.ints_out(Y); // [T]
  const int64_t T = x.shape[0], K = w.width(), N = w.rows();
  call.need(x.shape[1] == K && call.operand(Y).count == T, "x must be [T, K], w [N, K] and y [T]");
  if (T == 0) return;
  const Tiling tiling(T, K);
  const Product product(call.kernels, x, w, nullptr);
  call.scratch.reserve(tiling.panel * K + T * tiling.chunk);
  std::vector<Best> best(tiling.chunks(N) * T); // [chunks, T]
  call.pool.run(tiling.chunks(N), [&](int64_t chunk, int thread) {
    const int64_t first = chunk * tiling.chunk, width = std::min(N, first + tiling.chunk) - first;
    float* const panel = call.scratch.of(thread);
    float* const products = panel + tiling.panel * K; // [T, width]
    product.columns(first, first + width, products, width, panel);
    for (int64_t t = 0; t < T; t++) {
      Best& b = best[chunk * T + t];
      b.index = first + call.kernels.argmax(products + t * width, width, &b.value);
    }
  });
  for (int64_t t = 0; t < T; t++) {
    Best winner; // in the order of chunks, so that ties go to the lowest index
    for (size_t at = t; at < best.size(); at += T)
      if (best[at].value > winner.value) winner = best[at];
    y[t] = static_cast<int32_t>(winner.index);
  }
}

} // namespace quern
