#include "weights/matrix.h"

namespace quern {

Matrix Matrix::stored(Format format, int64_t rows, int64_t width, const uint8_t* data) {
  Matrix matrix;
  matrix.format_ = format;
  matrix.rows_ = rows;
  matrix.width_ = width;
  matrix.stride_ = layout_of(format).row_bytes(width);
  matrix.data_ = data;
  return matrix;
}

Matrix Matrix::packed(Format format, int64_t rows, int64_t width, const uint8_t* data, bool shares_scales) {
  Matrix matrix = stored(format, rows, width, data);
  matrix.is_packed_ = true;
  matrix.shares_scales_ = shares_scales;
  matrix.stride_ = packed_rows_bytes(packed_format(format), width);
  return matrix;
}

void Matrix::decode(const Kernels& kernels, int64_t first, int64_t count, float* out) const {
  if (!is_packed_) kernels.decode[format_](row(first), out, count * width_);
  else
    for (int64_t row = first; row < first + count; row++, out += width_) decode_packed_row(kernels, row, out);
}

void Matrix::decode_packed_row(const Kernels& kernels, int64_t row, float* out) const {
  const PackedFormat& layout = packed_format(format_);
  const uint8_t* const row_of_tiles = tiles(row);
  for (int64_t block = 0; block < width_ / layout.block; block++) {
    uint8_t bytes[largest_block_bytes] = {};
    layout.unpack(row_of_tiles + block / layout.tile_blocks * layout.tile_bytes, static_cast<int>(block % layout.tile_blocks),
                  static_cast<int>(row % PACKED_ROWS), bytes);
    kernels.decode[format_](bytes, out + block * layout.block, layout.block);
  }
}

} // namespace quern
