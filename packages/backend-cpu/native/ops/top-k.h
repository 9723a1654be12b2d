// The largest elements of a long row.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "runtime/call.h"

namespace quern {

// An element of a row; NaN counts as −∞.
struct Candidate {
  float value;
  int32_t index;
};

inline bool goes_before(Candidate a, Candidate b) { return a.value > b.value || (a.value == b.value && a.index < b.index); }

// Reads a row once, for the maximum of each block. Let m be the k-th largest maximum: at least k elements are ≥ m, so the k
// largest elements are ≥ m too. Only blocks with maximum ≥ m are read again, and few of their elements remain.
struct BlockRow {
  static constexpr int64_t block_width = 128; // smaller: more maxima to search; larger: more elements to search per block
  static int64_t blocks_of(int64_t width) { return (width + block_width - 1) / block_width; }

  const float* x;      // [width]
  const float* maxima; // [blocks]
  int64_t width, blocks;

  // Writes the block maxima of every row of x.
  static void find_maxima(const Call& call, const Floats& x, float* maxima) {
    const int64_t width = x.width(), blocks = blocks_of(width);
    call.split(x.rows() * blocks, block_width, [&](int64_t first, int64_t end, int) {
      for (int64_t i = first; i < end; i++) {
        const int64_t start = i % blocks * block_width;
        call.kernels.argmax(x.row(i / blocks) + start, std::min(block_width, width - start), maxima + i);
      }
    });
  }

  // The k largest, in order. `found` has room for the row, `order` for the maxima.
  void best(int64_t k, Candidate* found, float* order) const {
    int64_t count = collect(bound(k, order), found);
    while (count < k) found[count++] = {-std::numeric_limits<float>::infinity(), 0}; // only if JavaScript has changed x meanwhile
    std::partial_sort(found, found + k, found + count, goes_before);
  }

  // Collects elements ≥ `bound` in index order. Returns their number.
  int64_t collect(float bound, Candidate* found) const {
    int64_t count = 0;
    for (int64_t block = 0; block < blocks; block++) {
      if (maxima[block] < bound) continue;
      const int64_t end = std::min(width, (block + 1) * block_width);
      for (int64_t i = block * block_width; i < end; i++) {
        const float value = x[i];
        found[count] = {std::isnan(value) ? -std::numeric_limits<float>::infinity() : value, static_cast<int32_t>(i)};
        count += !(value < bound);
      }
    }
    return count;
  }

 private:
  float bound(int64_t k, float* order) const {
    if (blocks < k) return -std::numeric_limits<float>::infinity();
    std::copy_n(maxima, blocks, order);
    std::nth_element(order, order + k - 1, order + blocks, std::greater<>());
    return order[k - 1];
  }
};

} // namespace quern
