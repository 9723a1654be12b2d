// One op of a plan with typed views of its operands. A view checks what core's shape rule has promised, so that a wrong plan ends in
// an error. For ops that the host computes: the views are addresses of the host's memory.
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

  int64_t width() const { return rank ? shape[rank - 1] : 1; }   // the last dimension: elements of a row
  int64_t rows() const { return width() ? count / width() : 0; } // product of the others; 0 where rows have no elements
  float* row(int64_t index) const { return data + index * width(); }
  // Equal counts do not do where rows are addressed: [4, 4096] and [1, 16384] have rows of different lengths.
  bool same_shape(const Floats& other) const { return rank == other.rank && std::equal(shape, shape + rank, other.shape); }
};

struct Ints {
  const int32_t* data;
  int64_t count;
  int32_t operator[](int64_t index) const { return data[index]; }
};

// Copies of i32 operands for the length of an op; kept for the next op.
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
  Ints ints(int index) const; // a copy of inputs: nobody else can change what has been checked
  int32_t* ints_out(int index) const;

  float number(int attribute) const;
  int32_t integer(int attribute) const { return op_.attributes[attribute]; }
  bool flag(int attribute) const { return integer(attribute) != 0; }

  // Throws BAD_ARGUMENT: the plan breaks the op's shape rule.
  void need(bool holds, const char* rule) const;
  // Throws OUT_OF_RANGE with a printf'd message.
  [[noreturn]] [[gnu::format(printf, 2, 3)]] void out_of_range(const char* format, ...) const;
  const char* name() const { return op_.spec->name; }

 private:
  const PlanOp& op_;
  IntCopies& copies_;
};

} // namespace quern
