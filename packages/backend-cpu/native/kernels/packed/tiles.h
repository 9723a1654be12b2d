// Quantised matrices as integer kernels read them: tiles of 16 rows, one after the other along K, repacked once at load
// from GGUF blocks without loss (pack.h goes both ways). A line of 64 bytes holds four neighbours along k (a quad) of 16
// rows, row r's in bytes 4r … 4r + 3: what dot instructions want in one 32-bit lane (vpdpbusd, sdot, tdpbusd), and sixteen
// rows fill a register. Quads of less than eight bits share a line. Kernels read a tile from its first byte to its last,
// scales just before what they scale: jumping between fields that are kilobytes apart costs half of the bandwidth. formats/ has a file per
// format: its tile, and how a block of the file is laid into it.
#pragma once
#include "../generated/packed-formats.h"

namespace quern {

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

// A row as the kernels for many rows read it (kernels.h, superblock_gemm), in as many bytes at most: one scale for every 256.
constexpr int64_t SUPERBLOCK = 256;

struct SuperblockRow {
  const int8_t* values; // [spans, 64]; zeros beyond K
  const float* scales;  // one for every 256 of K
  const int32_t* sums;  // of the values of each 256, times −128: what weights that have 128 added give too much
};
inline SuperblockRow superblock_row(const uint8_t* row, int64_t K) {
  const auto* scales = reinterpret_cast<const float*>(row + spans_of(K) * SPAN);
  return {reinterpret_cast<const int8_t*>(row), scales, reinterpret_cast<const int32_t*>(scales + (K + SUPERBLOCK - 1) / SUPERBLOCK)};
}

} // namespace quern
