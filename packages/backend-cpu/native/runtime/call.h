// One op of a running plan, for the functions of ops/: views of its operands, kernels, threads, scratch.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <vector>

#include "quern/op-view.h"
#include "quern/pages.h"
#include "runtime/thread-pool.h"
#include "weights/weight.h"

namespace quern {

// In a step of ≤ exact_rows rows, each row gets the bits it would get alone, also with 16-bit weights and attention. So
// rows that verify a draft, or are decoded side by side, choose the tokens of single steps. More rows: other forms are
// allowed.
constexpr int64_t exact_rows = 16;

// A cache buffer [blocks, block_size, heads, cache_row(type, d)].
struct Cache {
  uint8_t* data;
  CacheType type;
  int64_t blocks, block_size, heads, d;

  int64_t slots() const { return blocks * block_size; }
  bool alike(const Cache& other) const {
    return type == other.type && blocks == other.blocks && block_size == other.block_size && heads == other.heads && d == other.d;
  }
  int64_t row_bytes() const { return cache_row(type, d) * cache_element_bytes(type); } // bytes of one head in a slot
};

// Scratch of one op: per thread, and shared. The memory is reused by the next op.
class Scratch {
 public:
  explicit Scratch(int threads) : threads_(threads) {}
  // Reserves this many floats; earlier contents are lost. Throws OUT_OF_MEMORY.
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
  const std::vector<Matrix>& matrices(int index) const;    // a weight [E, N, K], E ≥ 1
  const float* vector(int index, int64_t length) const;    // a weight [length]; nullptr if absent
  Cache cache(int index, int64_t heads, int64_t d) const;

  // Calls body(first, end, thread) for ranges that cover [0, items). `cost`: elementary operations per item; with enough
  // work, several threads take ranges. Results must not depend on the ranges. cost = 0: items without elements, as in shape
  // [2147483647, 0]; body is not called.
  template <class Body>
  void split(int64_t items, int64_t cost, const Body& body) const {
    if (cost == 0) return;
    const int64_t size = std::max<int64_t>(1, chunk_cost / cost);
    const auto of_chunk = [&](int64_t chunk, int thread) {
      body(chunk * size, std::min(items, (chunk + 1) * size), thread);
    };
    pool.run((items + size - 1) / size, of_chunk, items * cost / chunk_cost);
  }

  // Elementary operations of a chunk, about 5 µs: with less, waking a thread costs more than it saves.
  static constexpr int64_t chunk_cost = 32768;
};

} // namespace quern
