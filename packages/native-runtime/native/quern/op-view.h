// An op of a plan with typed views of its operands. A view checks core's shape rule: a malformed plan ends in an error.
// For ops on the host: addresses of host memory.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <vector>

#include "quern/plan.h"

namespace quern {

// A row-major f32 tensor.
struct Floats {
  float* data;
  const int64_t* shape;
  int32_t rank;
  int64_t count;

  int64_t width() const { return rank ? shape[rank - 1] : 1; }   // last dimension: elements per row
  int64_t rows() const { return width() ? count / width() : 0; } // product of the other dimensions; 0 if width is 0
  float* row(int64_t index) const { return data + index * width(); }
  // Equal counts are not enough: [4, 4096] and [1, 16384] have rows of different lengths.
  bool same_shape(const Floats& other) const { return rank == other.rank && std::equal(shape, shape + rank, other.shape); }
};

struct Ints {
  const int32_t* data;
  int64_t count;
  int32_t operator[](int64_t index) const { return data[index]; }
};

// Copies of i32 operands, valid during one op; the memory is reused by the next op.
class IntCopies {
 public:
  const int32_t* copy(int operand, const int32_t* data, int64_t count) {
    copies_[operand].assign(data, data + count);
    return copies_[operand].data();
  }

 private:
  std::vector<int32_t> copies_[max_operands];
};

class OpView {
 public:
  OpView(const PlanOp& op, IntCopies& copies) : op_(op), copies_(copies) {}

  static constexpr int any_rank = -1;
  const Operand& operand(int index) const { return op_.operands[index]; }
  bool present(int index) const { return operand(index).region != Region::none; }
  Floats floats(int index, int rank = any_rank) const;
  Ints ints(int index) const; // inputs are copied: checked values cannot change
  int32_t* ints_out(int index) const;

  float number(int attribute) const;
  int32_t integer(int attribute) const { return op_.attributes[attribute]; }
  bool flag(int attribute) const { return integer(attribute) != 0; }

  // Throws BAD_ARGUMENT if `!holds`: the plan breaks the op's shape rule.
  void need(bool holds, const char* rule) const;
  // Throws OUT_OF_RANGE with a printf'd message.
  [[noreturn]] [[gnu::format(printf, 2, 3)]] void out_of_range(const char* format, ...) const;
  const char* name() const { return op_.spec->name; }

 private:
  const PlanOp& op_;
  IntCopies& copies_;
};

} // namespace quern
