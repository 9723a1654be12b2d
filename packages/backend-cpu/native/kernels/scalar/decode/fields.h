// Fields of several formats.
#pragma once
#include "../scalar.h"
#include "../../packed/tiles.h"

namespace quern::scalar {

namespace {

// The 6-bit scale and minimum of group `g` (0..7) in the 12 packed bytes of a q4_k or q5_k block.
inline int packed_scale(const uint8_t* s, int g) { return g < 4 ? s[g] & 63 : (s[g + 4] & 15) | ((s[g - 4] >> 6) << 4); }
inline int packed_min(const uint8_t* s, int g) { return g < 4 ? s[g + 4] & 63 : (s[g + 4] >> 4) | ((s[g] >> 6) << 4); }

// The signed 6-bit scale of group `g` (0..15) in the 12 packed bytes of a q3_k block.
inline int packed_signed_scale(const uint8_t* s, int g) {
  const int low = g < 8 ? s[g] & 15 : s[g - 8] >> 4;
  const int high = (s[8 + (g & 3)] >> (2 * (g >> 2))) & 3;
  return (low | (high << 4)) - 32;
}

// Offset of the quantised bytes of group `g` (of 16) in a q2_k or q3_k block, and their bit shift.
inline int pairs_at(int g) { return 32 * (g >> 3) + 16 * (g & 1); }
inline int pairs_shift(int g) { return 2 * ((g >> 1) & 3); }

inline uint32_t read_u32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

} // namespace

} // namespace quern::scalar
