// A matrix in the form that ops read.
#pragma once
#include <stdint.h>

#include <span>

#include "kernels/packed/pack.h"
#include "weights/format.h"

namespace quern {

// Rows of `width` weights: in the file's layout, or in tiles (kernels/packed/tiles.h). A view; its Weight owns the memory.
class Matrix {
 public:
  // Contiguous rows at `data`.
  static Matrix stored(Format format, int64_t rows, int64_t width, const uint8_t* data);
  // Contiguous rows of tiles at `data`.
  static Matrix packed(Format format, int64_t rows, int64_t width, const uint8_t* data, bool shares_scales);

  Format format() const { return format_; }
  int64_t rows() const { return rows_; }
  int64_t width() const { return width_; }
  int64_t byte_length() const { return is_packed_ ? stride_ * ((rows_ + PACKED_ROWS - 1) / PACKED_ROWS) : stride_ * rows_; }

  bool is_packed() const { return is_packed_; }
  // Only if not packed.
  const uint8_t* row(int64_t index) const { return data_ + index * stride_; }
  // Only if packed: the tiles of rows [row, row + 16); row % 16 = 0.
  const uint8_t* tiles(int64_t row) const { return data_ + row / PACKED_ROWS * stride_; }
  // Packed q8_0 only: 256 weights of a row (8 blocks) share one scale, as in files of `quern quantize int8`.
  bool shares_scales() const { return shares_scales_; }
  // Rows are readable as floats without decoding.
  bool is_float() const { return format_ == FORMAT_F32 && reinterpret_cast<uintptr_t>(data_) % alignof(float) == 0; }
  const float* floats() const { return reinterpret_cast<const float*>(data_); }
  // Place p holds column order()[p]: permute x to this order before multiplying. Empty: the identity.
  std::span<const int32_t> order() const { return order_; }
  void set_order(std::span<const int32_t> order) { order_ = order; }

  // Decodes rows [first, first + count).
  void decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const;

 private:
  void decode_packed_row(const Kernels& kernels, int64_t row, float* out) const;

  Format format_ = FORMAT_F32;
  bool is_packed_ = false, shares_scales_ = false;
  int64_t rows_ = 0, width_ = 0, stride_ = 0; // stride_: bytes between rows, or between rows of tiles
  const uint8_t* data_ = nullptr;
  std::span<const int32_t> order_;
};

} // namespace quern
