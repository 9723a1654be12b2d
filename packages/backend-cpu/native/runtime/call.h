// One op of a running plan, as the functions of ops/ see it: views of its operands, and the means to compute.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <vector>

#include "quern/op-view.h"
#include "runtime/thread-pool.h"
#include "weights/weight.h"

namespace quern {

// So many rows each get the bits that they would get alone, weights of 16 bits and attention included: rows that check a
// draft, or decode side by side, choose the tokens that single steps choose. Steps of more rows may use other forms.
constexpr int64_t exact_rows = 16;

// A cache buffer [blocks, block_size, heads, cache_row(type, d)].
struct Cache {
  uint8_t* data;
  CacheType type;
  int64_t blocks, block_size, heads, d;

  int64_t slots() const { return blocks * block_size; }
  int64_t row_bytes() const { return cache_row(type, d) * cache_element_bytes(type); } // of a head in a slot
};

// Memory for the length of one op, some of each thread's own and some that all share; kept for the next op.
class Scratch {
 public:
  explicit Scratch(int threads) : threads_(threads) {}
  // Makes room for so many floats; earlier contents are lost. Throws OUT_OF_MEMORY.
  void reserve(int64_t of_each_thread, int64_t shared = 0);
  float* of(int thread) const { return floats() + thread * of_each_; }
  float* shared() const { return floats() + threads_ * of_each_; }
  IntCopies copies;

 private:
  float* floats() const { return reinterpret_cast<float*>(memory_.data()); }

  int threads_;
  int64_t of_each_ = 0;
  Pages memory_;
};

class Call : public OpView {
 public:
  Call(const PlanOp& op, const Kernels& kernels, ThreadPool& pool, Scratch& scratch)
      : OpView(op, scratch.copies), kernels(kernels), pool(pool), scratch(scratch) {}

  const Kernels& kernels;
  ThreadPool& pool;
  Scratch& scratch;

  const Matrix& matrix(int index) const;                   // a weight [rows, width]
  const std::vector<Matrix>& matrices(int index) const;    // a weight [E, N, K], E at least 1
  const float* vector(int index, int64_t length) const;    // a weight [length]; nullptr where absent
  Cache cache(int index, int64_t heads, int64_t d) const;

  // Calls body(first, end, thread) for ranges that cover [0, items), on several threads where `cost` (about one
  // elementary operation each, per item) makes that worth it. What is computed may not depend on the ranges. Items that cost
  // nothing have no elements, however many of them a shape like [2147483647, 0] may name: they are not visited.
  template <class Body>
  void split(int64_t items, int64_t cost, const Body& body) const {
    if (cost == 0) return;
    const int64_t size = std::max<int64_t>(1, chunk_cost / cost);
    const auto of_chunk = [&](int64_t chunk, int thread) {
      body(chunk * size, std::min(items, (chunk + 1) * size), thread);
    };
    pool.run((items + size - 1) / size, of_chunk, items * cost / chunk_cost);
  }

  // Below this a thread costs more to wake than it saves: about 5 µs of elementwise work.
  static constexpr int64_t chunk_cost = 32768;
};

} // namespace quern
