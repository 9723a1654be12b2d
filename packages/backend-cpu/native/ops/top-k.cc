#include <cmath>
#include <functional>
#include <limits>

#include "runtime/call.h"

namespace quern {

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr int64_t block_width = 128; // smaller: more maxima to look through; larger: more elements behind each

float value_of(float x) { return std::isnan(x) ? -infinity : x; }

// A row is read once, for the largest element of each block. At least k blocks reach the k-th largest of these maxima,
// so the k best elements do too: only blocks that reach it are looked at again, and few elements of them remain.
struct Row {
  const float* x;      // [width]
  const float* maxima; // [blocks]
  int64_t width, blocks;

  float bound(int64_t k, float* order) const {
    if (blocks < k) return -infinity;
    std::copy_n(maxima, blocks, order);
    std::nth_element(order, order + k - 1, order + blocks, std::greater<>());
    return order[k - 1];
  }

  // The elements that are not below `bound`; gives their count.
  int64_t collect(float bound, int32_t* found) const {
    int64_t count = 0;
    for (int64_t block = 0; block < blocks; block++) {
      if (maxima[block] < bound) continue;
      const int64_t end = std::min(width, (block + 1) * block_width);
      for (int64_t i = block * block_width; i < end; i++) {
        found[count] = static_cast<int32_t>(i);
        count += !(x[i] < bound);
      }
    }
    return count;
  }

  bool better(int32_t i, int32_t j) const {
    const float a = value_of(x[i]), b = value_of(x[j]);
    return a > b || (a == b && i < j);
  }
};

} // namespace

void TopKOp::run(Call& call) {
  const Floats x = call.floats(X);                 // [.., V]
  const Floats values = call.floats(VALUES);       // [.., k]
  int32_t* const indices = call.ints_out(INDICES); // [.., k]
  const int64_t V = x.width(), k = call.integer(K);
  call.need(x.rank > 0 && k >= 1 && k <= V && values.count == x.rows() * k && call.operand(INDICES).count == values.count,
            "x must be [.., V] with V ≥ k, values and indices [.., k]");
  const int64_t blocks = (V + block_width - 1) / block_width;
  call.scratch.reserve(V + blocks, x.rows() * blocks);
  float* const maxima = call.scratch.shared(); // [.., blocks]
  call.split(x.rows() * blocks, block_width, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) {
      const int64_t start = i % blocks * block_width;
      call.kernels.argmax(x.row(i / blocks) + start, std::min(block_width, V - start), maxima + i);
    }
  });
  call.split(x.rows(), 8 * blocks + 4 * k * block_width, [&](int64_t first, int64_t end, int thread) {
    auto* const found = reinterpret_cast<int32_t*>(call.scratch.of(thread)); // [V]
    float* const order = call.scratch.of(thread) + V;                        // [blocks]
    for (int64_t r = first; r < end; r++) {
      const Row row{x.row(r), maxima + r * blocks, V, blocks};
      int64_t count = row.collect(row.bound(k, order), found);
      while (count < k) found[count++] = 0; // only if JavaScript has written to x meanwhile
      std::partial_sort(found, found + k, found + count, [&](int32_t i, int32_t j) { return row.better(i, j); });
      for (int64_t i = 0; i < k; i++) {
        values.data[r * k + i] = value_of(row.x[found[i]]);
        indices[r * k + i] = found[i];
      }
    }
  });
}

} // namespace quern
