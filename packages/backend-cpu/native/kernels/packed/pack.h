// GGUF blocks to the tiles of tiles.h and back.
#pragma once
#include <stdint.h>

#include "../kernels.h"
#include "tiles.h"

namespace quern {

struct PackedFormat {
  int64_t block;       // weights of a block in the file
  int64_t block_bytes; // bytes of it
  int64_t tile_blocks; // blocks of each row in a tile
  int64_t tile_bytes;  // 0: this format is not packed
  void (*pack)(const uint8_t* block, uint8_t* tile, int index, int row);   // block `index` of `row` into a zeroed tile
  void (*unpack)(const uint8_t* tile, int index, int row, uint8_t* block); // into zeroes: the same bytes
};

// Of all formats.
constexpr int64_t largest_block_bytes = 276;
#define QUERN_FORMAT(name, NAME, block, block_bytes) static_assert(block_bytes <= largest_block_bytes);
#include "../generated/formats.inc"

const PackedFormat& packed_format(Format format);

// Bytes of 16 rows of K weights (K a whole number of blocks).
inline int64_t packed_rows_bytes(const PackedFormat& format, int64_t K) {
  const int64_t tile = format.block * format.tile_blocks;
  return (K + tile - 1) / tile * format.tile_bytes;
}

// Rows [0, count), count ≤ 16, of K weights each, `row_bytes` apart, into one row of tiles whose memory is zero.
void pack_rows(const PackedFormat& format, const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K, uint8_t* tiles);

// Whether the blocks of rows of q8_0 share a scale for every 256 weights (the mix int8), all of them finite and rows a whole
// number of spans: then superblock_gemm takes the weights as they are.
bool share_scales(const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K);

// Row `row` of a row of tiles, as the blocks of the file.
void unpack_row(const PackedFormat& format, const uint8_t* tiles, int row, int64_t K, uint8_t* blocks);

} // namespace quern
