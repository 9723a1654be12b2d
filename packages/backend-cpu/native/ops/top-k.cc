#include <cmath>
#include <limits>

#include "runtime/call.h"

namespace quern {

namespace {

// The k best of one row, kept in `best` as a heap whose top is the worst of them. NaN counts as −∞.
void select(const float* x, int64_t width, int64_t k, int32_t* best) {
  const auto value = [&](int32_t i) { return std::isnan(x[i]) ? -std::numeric_limits<float>::infinity() : x[i]; };
  const auto better = [&](int32_t i, int32_t j) {
    return value(i) > value(j) || (value(i) == value(j) && i < j);
  };
  for (int32_t i = 0; i < k; i++) best[i] = i;
  std::make_heap(best, best + k, better);
  for (int32_t i = static_cast<int32_t>(k); i < width; i++) {
    if (!(x[i] > value(best[0]))) continue; // a tie stays with the lower index
    std::pop_heap(best, best + k, better);
    best[k - 1] = i;
    std::push_heap(best, best + k, better);
  }
  std::sort_heap(best, best + k, better);
}

} // namespace

void TopKOp::run(Call& call) {
  const Floats x = call.floats(X);            // [.., V]
  const Floats values = call.floats(VALUES);  // [.., k]
  int32_t* const indices = call.ints_out(INDICES); // [.., k]
  const int64_t V = x.width(), k = call.integer(K);
  call.need(x.rank > 0 && k >= 1 && k <= V && values.count == x.rows() * k && call.operand(INDICES).count == values.count,
            "x must be [.., V] with V ≥ k, values and indices [.., k]");
  call.scratch.reserve(k);
  call.split(x.rows(), 2 * V, [&](int64_t first, int64_t end, int thread) {
    auto* const best = reinterpret_cast<int32_t*>(call.scratch.of(thread)); // [k]
    for (int64_t row = first; row < end; row++) {
      select(x.row(row), V, k, best);
      for (int64_t i = 0; i < k; i++) {
        const float value = x.row(row)[best[i]];
        values.data[row * k + i] = std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
        indices[row * k + i] = best[i];
      }
    }
  });
}

} // namespace quern
