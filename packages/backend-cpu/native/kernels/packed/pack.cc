#include "pack.h"

#include <string.h>

namespace quern {

namespace {

template <class Tile>
void pack(const uint8_t* block, uint8_t* tile, int index, int row) {
  move(Packer{block, row}, *reinterpret_cast<Tile*>(tile), index);
}

template <class Tile>
void unpack(const uint8_t* tile, int index, int row, uint8_t* block) {
  move(Unpacker{block, row}, *reinterpret_cast<Tile*>(const_cast<uint8_t*>(tile)), index);
}

template <class Tile>
constexpr PackedFormat of(int64_t block, int64_t block_bytes) {
  static_assert(sizeof(Tile) % sizeof(Line) == 0);
  return {block, block_bytes, block == 32 ? 2 : 1, sizeof(Tile), pack<Tile>, unpack<Tile>};
}

constexpr PackedFormat formats[] = {
#define QUERN_UNPACKED(name, NAME, block, block_bytes) {1, 0, 1, 0, nullptr, nullptr},
#define QUERN_PACKED(name, NAME, block, block_bytes) of<Tile##NAME>(block, block_bytes),
#include "../generated/formats.inc"
};

} // namespace

const PackedFormat& packed_format(Format format) { return formats[format]; }

void pack_rows(const PackedFormat& format, const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K,
               uint8_t* tiles) {
  const int64_t blocks = K / format.block;
  for (int64_t block = 0; block < blocks; block++) {
    uint8_t* const tile = tiles + block / format.tile_blocks * format.tile_bytes;
    const int index = int(block % format.tile_blocks);
    for (int row = 0; row < count; row++)
      format.pack(rows + row * row_bytes + block * format.block_bytes, tile, index, row);
  }
}

bool share_scales(const uint8_t* rows, int64_t row_bytes, int64_t count, int64_t K) {
  constexpr int64_t block_bytes = 34;
  const auto scale_of = [&](int64_t row, int64_t block) {
    uint16_t bits;
    memcpy(&bits, rows + row * row_bytes + block * block_bytes, sizeof bits);
    return bits;
  };
  constexpr uint16_t exponent = 0x7c00;
  for (int64_t row = 0; row < count; row++)
    for (int64_t block = 0; block < K / 32; block++) {
      const uint16_t scale = scale_of(row, block);
      if (scale != scale_of(row, block / 8 * 8) || (scale & exponent) == exponent) return false;
    }
  return K % SPAN == 0;
}

void unpack_row(const PackedFormat& format, const uint8_t* tiles, int row, int64_t K, uint8_t* blocks) {
  memset(blocks, 0, K / format.block * format.block_bytes);
  for (int64_t block = 0; block < K / format.block; block++)
    format.unpack(tiles + block / format.tile_blocks * format.tile_bytes, int(block % format.tile_blocks), row,
                  blocks + block * format.block_bytes);
}

} // namespace quern
