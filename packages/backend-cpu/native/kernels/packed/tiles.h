// Quantised matrices for integer kernels: tiles of 16 rows, consecutive along K, repacked at load from GGUF blocks without
// loss (pack.h converts both ways). A line of 64 bytes holds four neighbours along k (a quad) of 16 rows; row r is in bytes
// 4r … 4r + 3. A quad is one 32-bit lane of dot instructions (vpdpbusd, sdot, tdpbusd), and 16 rows fill a register. Quads
// of less than 8 bits share a line. Kernels read a tile from first to last byte, each scale just before its weights: jumps
// between fields kilobytes apart cost half of the bandwidth. formats/ has one file per format: its tile, and the mapping
// from a block of the file.
#pragma once
#include "../generated/packed-formats.h"

namespace quern {

// A row of activations for these kernels: int8 values, one scale per 32 values, and negated sums of the values, for offsets
// and minimums of the weights.
constexpr int64_t SPAN = 64, SHARE = 32; // SHARE: values of x with one scale
constexpr float SMALLEST = 0x1p-100f; // magnitudes below count as zero: 127 / x would overflow
constexpr int64_t spans_of(int64_t K) { return (K + SPAN - 1) / SPAN; }

struct QuantisedRow {
  const int8_t* values;    // [spans, 64]; zeros beyond K
  const float* scales;     // [spans, 2]
  const float* minus_sums; // [spans, 2]: −scale · Σ of 32 values
  const int32_t* sums32;   // [spans, 2]: −Σ of 32 values
  const int32_t* sums16;   // [spans, 4]: −Σ of 16 values
};
constexpr int64_t quantised_row_bytes(int64_t K) { return (spans_of(K) * (SPAN + 8 + 8 + 8 + 16) + 63) / 64 * 64; }
inline QuantisedRow quantised_row(const uint8_t* row, int64_t K) {
  const int64_t spans = spans_of(K);
  const auto* scales = reinterpret_cast<const float*>(row + spans * SPAN);
  const auto* sums32 = reinterpret_cast<const int32_t*>(scales + 4 * spans);
  return {reinterpret_cast<const int8_t*>(row), scales, scales + 2 * spans, sums32, sums32 + 2 * spans};
}

// A row for the kernels of many rows (kernels.h, superblock_gemm): one scale per 256 values. Not larger than QuantisedRow.
constexpr int64_t SUPERBLOCK = 256;

struct SuperblockRow {
  const int8_t* values; // [spans, 64]; zeros beyond K
  const float* scales;  // one per 256 values
  const int32_t* sums;  // −128 · Σ of each 256 values: corrects weights stored with 128 added
};
inline SuperblockRow superblock_row(const uint8_t* row, int64_t K) {
  const auto* scales = reinterpret_cast<const float*>(row + spans_of(K) * SPAN);
  return {reinterpret_cast<const int8_t*>(row), scales, reinterpret_cast<const int32_t*>(scales + (K + SUPERBLOCK - 1) / SUPERBLOCK)};
}

} // namespace quern
