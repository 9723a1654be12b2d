// GPTQ matrices as blocks of GGUF formats that mean the same, to the last bit: (q − zero) · scale of 32 columns of a group is a
// block of q4_0, q5_0 or q8_0 whose d is the group's scale.
#pragma once
#include <stdint.h>

#include <vector>

#include "quern/weight-source.h"
#include "weights/weight-rows.h"

namespace quern {

// In the format f32 where no block format means the same.
class GptqRows : public WeightRows {
 public:
  // Throws BAD_WEIGHT, naming the part that is wrong. `source` and what it points to must outlive the rows.
  GptqRows(const GptqSource& source, FileMap& files, ThreadPool& pool);

  // Column order()[p] of the matrix is at place p of the blocks; empty where columns are in their places.
  const std::vector<int32_t>& order() const { return order_; }
  RowsInMemory rows(int64_t first, int64_t count, uint8_t* scratch) const override;
  void need_unchanged() const override;
  void release_files() const override;

 private:
  struct Part : HeldBytes {
    const ByteSource* source = nullptr;
    uint32_t word(int64_t index) const;
  };
  static Part open(const ByteSource& source, const char* name, int64_t bytes, FileMap& files, ThreadPool& pool);
  void read_groups();
  void put_in_order();
  bool in_blocks() const;
  void choose_format();
  int zero(int64_t group, int64_t n) const;
  uint16_t scale(int64_t group, int64_t n) const;
  int64_t column(int64_t place) const { return order_.empty() ? place : order_[place]; }
  void fill_blocks(int64_t first, int64_t count, uint8_t* out) const;
  void fill_block(int64_t group, int64_t n, const int16_t (&values)[32], uint8_t* block) const;
  void fill_floats(int64_t first, int64_t count, float* out) const;
  // Where in a word the i-th of neighbours is.
  int bit(int64_t i) const { return source_.bits * static_cast<int>(i & ((1 << shift_) - 1)); }
  int field(uint32_t word, int bit) const { return static_cast<int>(word >> bit & ((1u << source_.bits) - 1)); }

  const GptqSource& source_;
  const int shift_; // 2^shift_ values in a word
  const int64_t groups_;
  Part qweight_, qzeros_, scales_, group_index_;
  const Part* const parts_[4] = {&qweight_, &qzeros_, &scales_, &group_index_};
  std::vector<int32_t> group_of_; // [K]
  std::vector<int32_t> order_;    // [K], or empty
};

} // namespace quern
