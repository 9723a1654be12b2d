// GGUF blocks ↔ the tiles of tiles.h.
#pragma once
#include <stdint.h>

#include "../kernels.h"
#include "tiles.h"

namespace quern {

struct PackedFormat {
  int64_t block;       // weights per block of the file
  int64_t block_bytes; // bytes per block
  int64_t tile_blocks; // blocks of each row per tile
  int64_t tile_bytes;  // 0: the format has no tiles
  void (*pack)(const uint8_t* block, uint8_t* tile, int index, int row);   // block `index` of `row` → a zeroed tile
  void (*unpack)(const uint8_t* tile, int index, int row, uint8_t* block); // tile → zeroed memory; the original bytes
};

// Maximum over all formats.
constexpr int64_t largest_block_bytes = 276;
#define QUERN_FORMAT(name, NAME, block, block_bytes) static_assert(block_bytes <= largest_block_bytes);
#include "../generated/formats.inc"

const PackedFormat& packed_format(Format format);

// Bytes of 16 rows of K weights; K is a multiple of the block size.
inline int64_t packed_rows_bytes(const PackedFormat& format, int64_t K) {
  const int64_t tile = format.block * format.tile_blocks;
  return (K + tile - 1) / tile * format.tile_bytes;
}

// Packs rows [0, count), count ≤ 16, of K weights, `row_bytes` apart, into one zeroed row of tiles.
void pack_rows(const PackedFormat& format, const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K, uint8_t* tiles);

// Whether each row's blocks (q8_0, the mix int8) share one finite scale per 256 weights, and K is a multiple of 64.
// superblock_gemm then reads the weights in place.
bool share_scales(const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K);

// Row `row` of a row of tiles, as blocks of the file.
void unpack_row(const PackedFormat& format, const uint8_t* tiles, int row, int64_t K, uint8_t* blocks);

} // namespace quern
