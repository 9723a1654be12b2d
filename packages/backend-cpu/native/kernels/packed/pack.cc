#include "pack.h"

#include <string.h>

namespace quern {

namespace {

// Moves the fields of a block to the lane of its row in a tile, or back. The two directions share the description of every
// format below, which names each field once. What is written to has been zeroed.
struct Packer {
  const uint8_t* block;
  int row;

  // The bits of `mask` at bit `from` of every byte of a word of the block, to bit `to` of the lane.
  void quad(int at, int from, uint32_t mask, Line& line, int to) const { copy(block + at, from, mask, line + 4 * row, to); }
  void half(int at, HalvesOfRows& values) const { memcpy(&values[row], block + at, 2); }
  template <class Byte>
  void bits(int at, int from, int mask, Byte& value, int to) const {
    value = Byte(value | (block[at] >> from & mask) << to);
  }

  static void copy(const uint8_t* source, int from, uint32_t mask, uint8_t* target, int to) {
    uint32_t word, result;
    memcpy(&word, source, sizeof word);
    memcpy(&result, target, sizeof result);
    result |= (word >> from & mask) << to;
    memcpy(target, &result, sizeof result);
  }
};

struct Unpacker {
  uint8_t* block;
  int row;

  void quad(int at, int from, uint32_t mask, const Line& line, int to) const {
    Packer::copy(line + 4 * row, to, mask, block + at, from);
  }
  void half(int at, const HalvesOfRows& values) const { memcpy(block + at, &values[row], 2); }
  template <class Byte>
  void bits(int at, int from, int mask, const Byte& value, int to) const {
    block[at] = uint8_t(block[at] | (uint8_t(value) >> to & mask) << from);
  }
};

template <class M>
constexpr bool packs = false;
template <>
constexpr bool packs<Packer> = true;

constexpr uint32_t all_bits = 0xffffffff, nibbles = 0x0f0f0f0f, pairs = 0x03030303, single_bits = 0x01010101;

// Words of nibbles that lie in the file as they do in a tile.
template <class M>
void move_words(const M& m, int at, Line (&lines)[4]) {
  for (int i = 0; i < 4; i++) m.quad(at + 4 * i, 0, all_bits, lines[i], 0);
}

// Bit e of the 32 belongs to element e: byte e % 4 of quad e / 4.
template <class M>
void move_fifth_bits(const M& m, int at, Line& line) {
  uint8_t* const lane = line + 4 * m.row;
  for (int e = 0; e < 32; e++) m.bits(at + e / 8, e % 8, 1, lane[e % 4], e / 4);
}

// 8 scales and 8 minimums of 6 bits in 12 bytes (ggml's get_scale_min_k4), two of each to a span.
template <class M, class Tile>
void move_scales_and_mins(const M& m, int at, Tile& tile) {
  for (int g = 0; g < 4; g++) {
    auto &low = tile.span[g / 2], &high = tile.span[2 + g / 2];
    m.bits(at + g, 0, 63, low.scales[g % 2][m.row], 0);
    m.bits(at + 4 + g, 0, 63, low.mins[g % 2][m.row], 0);
    m.bits(at + 8 + g, 0, 15, high.scales[g % 2][m.row], 0);
    m.bits(at + g, 6, 3, high.scales[g % 2][m.row], 4);
    m.bits(at + 8 + g, 4, 15, high.mins[g % 2][m.row], 0);
    m.bits(at + 4 + g, 6, 3, high.mins[g % 2][m.row], 4);
  }
}

// 16 scales of 6 bits in 12 bytes, 32 above their value: low nibbles of 0–7 and 8–15, then the high pairs.
template <class M>
void move_signed_scales(const M& m, int at, TileQ3_K& tile) {
  for (int g = 0; g < 16; g++) {
    int8_t& scale = tile.span[g / 4].scales[g % 4][m.row];
    uint8_t bits = uint8_t(scale + 32);
    if constexpr (packs<M>) bits = 0;
    m.bits(at + g % 8, g < 8 ? 0 : 4, 15, bits, 0);
    m.bits(at + 8 + g % 4, 2 * (g / 4), 3, bits, 4);
    if constexpr (packs<M>) scale = int8_t(bits - 32);
  }
}

// The fields of block `i` of a tile, at their offsets in the file's block.
template <class M>
void move(const M& m, TileQ4_0& tile, int i) {
  m.half(0, tile.d[i]);
  move_words(m, 2, tile.q[i]);
}
template <class M>
void move(const M& m, TileQ4_1& tile, int i) {
  m.half(0, tile.d[i]);
  m.half(2, tile.m[i]);
  move_words(m, 4, tile.q[i]);
}
template <class M>
void move(const M& m, TileQ5_0& tile, int i) {
  m.half(0, tile.d[i]);
  move_fifth_bits(m, 2, tile.fifth[i]);
  move_words(m, 6, tile.q[i]);
}
template <class M>
void move(const M& m, TileQ5_1& tile, int i) {
  m.half(0, tile.d[i]);
  m.half(2, tile.m[i]);
  move_fifth_bits(m, 4, tile.fifth[i]);
  move_words(m, 8, tile.q[i]);
}
template <class M>
void move(const M& m, TileQ8_0& tile, int i) {
  m.half(0, tile.d[i]);
  for (int q = 0; q < 8; q++) m.quad(2 + 4 * q, 0, all_bits, tile.q[i][q], 0);
}

// Quad q of the 64 in a block of 256: of pairs of bits, 128 weights lie in 32 bytes, those 32 apart in one byte.
constexpr int pair_at(int q) { return q / 32 * 32 + 4 * (q % 8); }
constexpr int pair_bit(int q) { return 2 * (q / 8 % 4); }

template <class M>
void move(const M& m, TileQ2_K& tile, int) {
  for (int g = 0; g < 16; g++) m.bits(g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  for (int q = 0; q < 64; q++) m.quad(16 + pair_at(q), pair_bit(q), pairs, tile.span[q / 16].q[q / 4 % 4], 2 * (q % 4));
  m.half(80, tile.d);
  m.half(82, tile.dmin);
}
template <class M>
void move(const M& m, TileQ3_K& tile, int) {
  for (int q = 0; q < 64; q++) {
    auto& span = tile.span[q / 16];
    m.quad(4 * (q % 8), q / 8, single_bits, span.third[q / 8 % 2], q % 8);
    m.quad(32 + pair_at(q), pair_bit(q), pairs, span.q[q / 4 % 4], 2 * (q % 4));
  }
  move_signed_scales(m, 96, tile);
  m.half(108, tile.d);
}

// Of nibbles, 64 weights lie in 32 bytes, those 32 apart in one byte.
constexpr int nibble_at(int q) { return q / 16 * 32 + 4 * (q % 8); }
constexpr int nibble_bit(int q) { return 4 * (q / 8 % 2); }

template <class M>
void move(const M& m, TileQ4_K& tile, int) {
  m.half(0, tile.d);
  m.half(2, tile.dmin);
  move_scales_and_mins(m, 4, tile);
  for (int q = 0; q < 64; q++)
    m.quad(16 + nibble_at(q), nibble_bit(q), nibbles, tile.span[q / 16].q[q / 8 % 2][q % 4], 4 * (q / 4 % 2));
}
template <class M>
void move(const M& m, TileQ5_K& tile, int) {
  m.half(0, tile.d);
  m.half(2, tile.dmin);
  move_scales_and_mins(m, 4, tile);
  for (int q = 0; q < 64; q++) {
    auto& block = tile.span[q / 16].block[q / 8 % 2];
    m.quad(16 + 4 * (q % 8), q / 8, single_bits, block.fifth, q % 8);
    m.quad(48 + nibble_at(q), nibble_bit(q), nibbles, block.q[q % 4], 4 * (q / 4 % 2));
  }
}

// Of 128 weights, the low nibbles lie in 64 bytes, those 64 apart in one byte; the upper pairs of bits in 32 bytes.
template <class M>
void move(const M& m, TileQ6_K& tile, int) {
  for (int q = 0; q < 64; q++) {
    auto& block = tile.span[q / 16].block[q / 4 % 4];
    m.quad(q / 32 * 64 + 4 * (q % 16), 4 * (q / 16 % 2), nibbles, block.low[q % 2], 4 * (q / 2 % 2));
    m.quad(128 + pair_at(q), pair_bit(q), pairs, block.high, 2 * (q % 4));
  }
  for (int g = 0; g < 16; g++) m.bits(192 + g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  m.half(208, tile.d);
}

// Half a power of two as E8M0 has it, 2^(e − 128), as bf16: the last two are subnormal.
constexpr uint16_t half_power(uint8_t e) { return uint16_t(e < 2 ? 0x20 << e : (e - 1) << 7); }
constexpr uint8_t exponent_of(uint16_t half_power) { return uint8_t(half_power < 0x80 ? half_power >> 6 : (half_power >> 7) + 1); }

template <class M>
void move(const M& m, TileMXFP4& tile, int i) {
  uint16_t& d = tile.d[i][m.row];
  uint8_t exponent = exponent_of(d);
  if constexpr (packs<M>) exponent = 0;
  m.bits(0, 0, 255, exponent, 0);
  if constexpr (packs<M>) d = half_power(exponent);
  move_words(m, 1, tile.q[i]);
}
// The upper pairs of 8 scales, 32 above their value, lie in 2 bytes; their low nibbles in 4.
template <class M>
void move(const M& m, TileIQ4_XS& tile, int) {
  m.half(0, tile.d);
  for (int g = 0; g < 8; g++) {
    auto& span = tile.span[g / 2];
    int8_t& scale = span.scales[g % 2][m.row];
    uint8_t bits = uint8_t(scale + 32);
    if constexpr (packs<M>) bits = 0;
    m.bits(4 + g / 2, 4 * (g % 2), 15, bits, 0);
    m.bits(2 + g / 4, 2 * (g % 4), 3, bits, 4);
    if constexpr (packs<M>) scale = int8_t(bits - 32);
    move_words(m, 8 + 16 * g, span.q[g % 2]);
  }
}

template <class M>
void move(const M& m, TileIQ8& tile, int) {
  m.quad(0, 0, all_bits, reinterpret_cast<Line&>(tile.d), 0);
  for (int g = 0; g < 16; g++) m.bits(4 + g, 0, 255, tile.span[g / 4].scales[g % 4][m.row], 0);
  for (int q = 0; q < 64; q++) m.quad(20 + 4 * q, 0, all_bits, tile.span[q / 16].q[q / 4 % 4][q % 4], 0);
}

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
  return {block, block_bytes, block == 32 ? 2 : 1, sizeof(Tile), pack<Tile>, unpack<Tile>};
}

constexpr PackedFormat not_packed = {1, 0, 1, 0, nullptr, nullptr};
constexpr PackedFormat formats[] = {
    not_packed,            not_packed,             not_packed,            of<TileQ4_0>(32, 18),
    of<TileQ4_1>(32, 20),  of<TileQ5_0>(32, 22),   of<TileQ5_1>(32, 24),  of<TileQ8_0>(32, 34),
    of<TileQ2_K>(256, 84), of<TileQ3_K>(256, 110), of<TileQ4_K>(256, 144), of<TileQ5_K>(256, 176),
    of<TileQ6_K>(256, 210), of<TileQ4_0>(32, 18), of<TileIQ4_XS>(256, 136), of<TileMXFP4>(32, 17),
    of<TileIQ8>(256, 276),
};
static_assert(sizeof formats / sizeof *formats == FORMAT_COUNT);

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
