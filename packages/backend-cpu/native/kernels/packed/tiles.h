// Quantised matrices as integer kernels read them: tiles of 16 rows, one after the other along K, repacked once at load
// from GGUF blocks without loss (pack.h goes both ways). A line of 64 bytes holds four neighbours along k (a quad) of 16
// rows, row r's in bytes 4r … 4r + 3: what dot instructions want in one 32-bit lane (vpdpbusd, sdot, tdpbusd), and sixteen
// rows fill a register. Quads of less than eight bits share a line. Kernels read a tile from its first byte to its last,
// scales just before what they scale: jumping between fields that are kilobytes apart costs half of the bandwidth.
#pragma once
#include <stdint.h>

namespace quern {

constexpr int64_t PACKED_ROWS = 16;

using HalvesOfRows = uint16_t[PACKED_ROWS]; // f16
using Line = uint8_t[64];

// What nibbles index: the values of iq4_nl and iq4_xs, and twice those of a 4-bit float (ggml-common.h).
constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// Two blocks of 32 weights.
struct TileQ4_0 {
  HalvesOfRows d[2];
  Line q[2][4]; // line i: quad i in the low nibbles, quad i + 4 in the high ones
};
struct TileQ4_1 {
  HalvesOfRows d[2], m[2];
  Line q[2][4];
};
struct TileQ5_0 {
  HalvesOfRows d[2];
  Line fifth[2]; // bit i of a byte: the fifth bit of its weight in quad i
  Line q[2][4];
};
struct TileQ5_1 {
  HalvesOfRows d[2], m[2];
  Line fifth[2];
  Line q[2][4];
};
struct TileQ8_0 {
  HalvesOfRows d[2];
  Line q[2][8];
};

// Of iq4_nl: as q4_0, but q indexes iq4_values.
struct TileMXFP4 {
  HalvesOfRows d[2]; // bf16, which holds every power of two
  Line q[2][4];      // as q4_0, indices of fp4_values
};

// 256 weights: four spans of 64, each with the scales of its blocks (of 32 or 16 weights) for 16 rows.
using BytesOfRows = uint8_t[PACKED_ROWS];
using SignedBytesOfRows = int8_t[PACKED_ROWS];

struct TileQ2_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[4]; // scale low nibble, minimum high nibble
    Line q[4];             // bits 2i and 2i + 1: quad i of the block
  } span[4];
};
struct TileQ3_K {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[4];
    Line third[2]; // of two blocks: bit i is the third bit of quad i of eight
    Line q[4];     // as q2_k
  } span[4];
};
struct TileQ4_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[2], mins[2];
    Line q[2][4]; // as q4_0
  } span[4];
};
struct TileQ5_K {
  HalvesOfRows d, dmin;
  struct {
    BytesOfRows scales[2], mins[2];
    struct {
      Line fifth; // as q5_0
      Line q[4];
    } block[2];
  } span[4];
};
struct TileQ6_K {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[4];
    struct {
      Line high;   // bits 2i and 2i + 1: the upper two of quad i
      Line low[2]; // line i: quad i in the low nibbles, quad i + 2 in the high ones
    } block[4];
  } span[4];
};

struct TileIQ4_XS {
  HalvesOfRows d, unused;
  struct {
    SignedBytesOfRows scales[2];
    Line q[2][4]; // as iq4_nl
  } span[4];
};

struct TileIQ8 {
  float d[PACKED_ROWS];
  struct {
    SignedBytesOfRows scales[4];
    Line q[4][4];
  } span[4];
};

static_assert(sizeof(TileQ4_0) % 64 == 0 && sizeof(TileQ4_1) % 64 == 0 && sizeof(TileQ5_0) % 64 == 0 &&
              sizeof(TileQ5_1) % 64 == 0 && sizeof(TileQ8_0) % 64 == 0 && sizeof(TileQ2_K) % 64 == 0 &&
              sizeof(TileQ3_K) % 64 == 0 && sizeof(TileQ4_K) % 64 == 0 && sizeof(TileQ5_K) % 64 == 0 &&
              sizeof(TileQ6_K) % 64 == 0 && sizeof(TileIQ4_XS) % 64 == 0 && sizeof(TileMXFP4) % 64 == 0 &&
              sizeof(TileIQ8) % 64 == 0);

// A row of activations as the same kernels read it: int8 values with one scale for every 64, and the sums of the
// values, negated, over every 32 and every 16: what an offset of the weights is multiplied with.
constexpr int64_t SPAN = 64;
constexpr float SMALLEST = 0x1p-100f; // magnitudes below it count as zero: 127 / x would overflow
constexpr int64_t spans_of(int64_t K) { return (K + SPAN - 1) / SPAN; }

struct QuantisedRow {
  const int8_t* values;   // [spans, 64]; zeros beyond K
  const float* scales;    // [spans]
  const int32_t* sums32;  // [spans, 2]
  const int32_t* sums16;  // [spans, 4]
};
constexpr int64_t quantised_row_bytes(int64_t K) { return (spans_of(K) * (SPAN + 4 + 8 + 16) + 63) / 64 * 64; }
inline QuantisedRow quantised_row(const uint8_t* row, int64_t K) {
  const int64_t spans = spans_of(K);
  const auto* scales = reinterpret_cast<const float*>(row + spans * SPAN);
  const auto* sums32 = reinterpret_cast<const int32_t*>(scales + spans);
  return {reinterpret_cast<const int8_t*>(row), scales, sums32, sums32 + 2 * spans};
}

// A row as the kernels for many rows read it (kernels.h, coarse_gemm), in as many bytes at most: one scale for every 256.
constexpr int64_t COARSE = 256;

struct CoarseRow {
  const int8_t* values; // [spans, 64]; zeros beyond K
  const float* scales;  // one for every 256 of K
  const int32_t* sums;  // of the values of each 256, times −128: what weights that have 128 added give too much
};
inline CoarseRow coarse_row(const uint8_t* row, int64_t K) {
  const auto* scales = reinterpret_cast<const float*>(row + spans_of(K) * SPAN);
  return {reinterpret_cast<const int8_t*>(row), scales, reinterpret_cast<const int32_t*>(scales + (K + COARSE - 1) / COARSE)};
}

} // namespace quern
