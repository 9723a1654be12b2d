#include <limits>
#include <memory>

#include "ops/product.h"

namespace quern {

namespace {

// The best column of a row among those a thread has computed. Ties: lowest index.
struct Best {
  float value = -std::numeric_limits<float>::infinity();
  int32_t index = 0;

  void offer(const Best& other) {
    if (other.value > value || (other.value == value && other.index < index)) *this = other;
  }
};
constexpr int64_t best_floats = sizeof(Best) / sizeof(float);

} // namespace

void LinearArgmaxOp::run(Call& call) {
  const Floats x = call.floats(X, 2); // [T, K]
  const Matrix& w = call.matrix(W);   // [N, K]
  int32_t* const y = call.ints_out(Y); // [T]
  const int64_t T = x.shape[0], K = w.width(), N = w.rows();
  call.need(x.shape[1] == K && call.operand(Y).count == T, "x must be [T, K], w [N, K] and y [T]");
  if (T == 0) return;
  const Needs needs(call.kernels, T, {&w});
  const Tiling tiling(T, K, needs);
  call.scratch.reserve(tiling.panel_floats + T * tiling.chunk + T * best_floats, Activations::floats(x, needs));
  const Activations rows(call, x, needs);
  const Product product(call.kernels, rows, w, nullptr, T);
  const auto best_of = [&](int thread) { // [T]
    return reinterpret_cast<Best*>(call.scratch.of(thread) + tiling.panel_floats + T * tiling.chunk);
  };
  for (int thread = 0; thread < call.pool.threads(); thread++) std::uninitialized_fill_n(best_of(thread), T, Best());
  call.pool.run(tiling.chunks(N), [&](int64_t chunk, int thread) {
    const int64_t first = chunk * tiling.chunk, width = std::min(N, first + tiling.chunk) - first;
    float* const panel = call.scratch.of(thread);
    float* const products = panel + tiling.panel_floats; // [T, width]
    product.columns(tiling, first, first + width, products, width, panel);
    for (int64_t t = 0; t < T; t++) {
      Best found;
      found.index = static_cast<int32_t>(first + call.kernels.argmax(products + t * width, width, &found.value));
      best_of(thread)[t].offer(found);
    }
  });
  for (int64_t t = 0; t < T; t++) {
    Best winner;
    for (int thread = 0; thread < call.pool.threads(); thread++) winner.offer(best_of(thread)[t]);
    y[t] = winner.index;
  }
}

} // namespace quern
