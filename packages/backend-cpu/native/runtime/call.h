// One op of a running plan, as the functions of ops/ see it: typed views of its operands, and the means to compute.
// The views check what core's shape rule has promised, so that a wrong plan ends in an error.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <vector>

#include "quern/plan.h"
#include "runtime/thread-pool.h"

namespace quern {

// So many rows each get the bits that they would get alone, weights of 16 bits and attention included: rows that check a
// draft, or decode side by side, choose the tokens that single steps choose. Steps of more rows may use other forms.
constexpr int64_t exact_rows = 16;

// A row-major f32 tensor.
struct Floats {
  float* data;
  const int64_t* shape;
  int32_t rank;
  int64_t count;

  int64_t width() const { return rank ? shape[rank - 1] : 1; }   // of a row: the last dimension
  int64_t rows() const { return width() ? count / width() : 0; } // product of the others; rows of nothing do not count
  float* row(int64_t index) const { return data + index * width(); }
  // Equal counts do not do where rows are addressed: [4, 4096] and [1, 16384] have rows of different lengths.
  bool same_shape(const Floats& other) const { return rank == other.rank && std::equal(shape, shape + rank, other.shape); }
};

struct Ints {
  const int32_t* data;
  int64_t count;
  int32_t operator[](int64_t index) const { return data[index]; }
};

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
  // A copy of operand `index` for the length of the op.
  const int32_t* copy(int index, const int32_t* data, int64_t count);

 private:
  float* floats() const { return reinterpret_cast<float*>(memory_.data()); }

  int threads_;
  int64_t of_each_ = 0;
  Pages memory_;
  std::vector<int32_t> copies_[max_operands];
};

class Call {
 public:
  Call(const PlanOp& op, const Kernels& kernels, ThreadPool& pool, Scratch& scratch)
      : kernels(kernels), pool(pool), scratch(scratch), op_(op) {}

  const Kernels& kernels;
  ThreadPool& pool;
  Scratch& scratch;

  static constexpr int any_rank = -1;
  const Operand& operand(int index) const { return op_.operands[index]; }
  bool present(int index) const { return operand(index).region != Region::none; }
  Floats floats(int index, int rank = any_rank) const;
  Ints ints(int index) const; // what is checked stays so: nobody else can change them while the op runs
  int32_t* ints_out(int index) const;
  const Matrix& matrix(int index) const;                   // a weight [rows, width]
  const std::vector<Matrix>& matrices(int index) const;    // a weight [E, N, K], E at least 1
  const float* vector(int index, int64_t length) const;    // a weight [length]; nullptr where absent
  Cache cache(int index, int64_t heads, int64_t d) const;

  float number(int attribute) const;
  int32_t integer(int attribute) const { return op_.attributes[attribute]; }
  bool flag(int attribute) const { return integer(attribute) != 0; }

  // Throws BAD_ARGUMENT: the plan breaks the op's shape rule.
  void need(bool holds, const char* rule) const;
  // Throws OUT_OF_RANGE with a printf'd message.
  [[noreturn]] [[gnu::format(printf, 2, 3)]] void out_of_range(const char* format, ...) const;

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

 private:
  const PlanOp& op_;
};

} // namespace quern
