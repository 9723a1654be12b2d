// GPTQ matrices as blocks of GGUF formats, exact: (q − zero) · scale of 32 columns of one group becomes a block of q4_0,
// q5_0 or q8_0 with d = the group's scale.
#pragma once
#include <stdint.h>

#include <vector>

#include "quern/weight-source.h"

namespace quern {

// f32: no block format is exact.
enum class GptqFormat { f32, q4_0, q5_0, q8_0 };

class GptqBlocks {
 public:
  static constexpr int64_t most_rows = 16; // of one `fill`

  // Throws BAD_WEIGHT with the name of the wrong part. `source` and its bytes must outlive this object.
  GptqBlocks(const GptqSource& source, FileMap& files, Parallel& parallel);

  GptqFormat format() const { return format_; }
  const char* format_name() const;
  int64_t count() const { return source_.N; }
  int64_t width() const { return source_.K; }
  int64_t row_bytes() const { return format_ == GptqFormat::f32 ? 4 * source_.K : source_.K / 32 * block_bytes(); }
  // Place p of the blocks holds column order()[p] of the matrix; empty: the identity.
  const std::vector<int32_t>& order() const { return order_; }
  // Rows [first, first + count), count ≤ most_rows, in file layout: count · row_bytes() bytes. Any thread.
  void fill(int64_t first, int64_t count, uint8_t* out) const;
  // After filling: throws BAD_WEIGHT if a file has changed meanwhile.
  void need_unchanged() const;
  // Drops the memory of mapped files.
  void release_files() const;

 private:
  struct Part : HeldBytes {
    const ByteSource* source = nullptr;
    uint32_t word(int64_t index) const;
  };
  static Part open(const ByteSource& source, const char* name, int64_t bytes, FileMap& files, Parallel& parallel);
  int64_t block_bytes() const;
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
  // Bit offset of value i within its word.
  int bit(int64_t i) const { return source_.bits * static_cast<int>(i & ((1 << shift_) - 1)); }
  int field(uint32_t word, int bit) const { return static_cast<int>(word >> bit & ((1u << source_.bits) - 1)); }

  const GptqSource& source_;
  const int shift_; // 2^shift_ values per word
  const int64_t groups_;
  Part qweight_, qzeros_, scales_, group_index_;
  const Part* const parts_[4] = {&qweight_, &qzeros_, &scales_, &group_index_};
  GptqFormat format_ = GptqFormat::f32;
  std::vector<int32_t> group_of_; // [K]
  std::vector<int32_t> order_;    // [K] or empty
};

} // namespace quern
