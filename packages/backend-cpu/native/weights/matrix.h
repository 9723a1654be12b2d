// A matrix as ops read it.
#pragma once
#include <stdint.h>

#include <span>

#include "kernels/packed/pack.h"
#include "weights/format.h"

namespace quern {

// Rows of `width` weights each: as they lie in a file, or in tiles (kernels/packed/tiles.h). A view; its Weight owns the memory.
class Matrix {
 public:
  // Rows one behind another from `data` on.
  static Matrix stored(Format format, int64_t rows, int64_t width, const uint8_t* data);
  // Rows of tiles from `data` on.
  static Matrix packed(Format format, int64_t rows, int64_t width, const uint8_t* data, bool shares_scales);

  Format format() const { return format_; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  int64_t byte_length() const { return is_packed_ ? stride_ * ((rows_ + PACKED_ROWS - 1) / PACKED_ROWS) : stride_ * rows_; }

  bool is_packed() const { return is_packed_; }
  // Where it is not packed.
  const uint8_t* row(int64_t index) const { return data_ + index * stride_; }
  // Where it is packed: the tiles of 16 rows from `row` on, a multiple of 16.
  const uint8_t* tiles(int64_t row) const { return data_ + row / PACKED_ROWS * stride_; }
  // Of packed q8_0: all blocks of a row share a scale for every 256 weights, as int8 takes them (quern quantize int8).
  bool shares_scales() const { return shares_scales_; }
  // Rows can be used as floats without decoding.
  bool is_float() const { return format_ == FORMAT_F32 && reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0; }
  const float* floats() const { return reinterpret_cast<const float*>(data_); }
  // Column order()[p] of the matrix is at place p: x must be put in that order before it is multiplied. Empty: as they are.
  std::span<const int32_t> order() const { return order_; }
  void set_order(std::span<const int32_t> order) { order_ = order; }

  // Decodes `count` whole rows.
  void decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const;

 private:
  void decode_packed_row(const Kernels& kernels, int64_t row, float* out) const;

  Format format_ = FORMAT_F32;
  bool is_packed_ = false, shares_scales_ = false;
  int64_t rows_ = 0, width_ = 0, stride_ = 0; // bytes from row to row, or from one row of tiles to the next
  const uint8_t* data_ = nullptr;
  std::span<const int32_t> order_;
};

} // namespace quern
