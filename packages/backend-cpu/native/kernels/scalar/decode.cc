// GGUF blocks to f32. Block layouts and the order of operations are those of ggml (ggml-common.h, dequantize_row_* in
// ggml-quants.c), which @quern/quant defines in TypeScript: results agree with both to the last bit.
#include "scalar.h"
#include "../packed/tiles.h"

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

// Bytes of the quantised values of group `g` (of 16) in a q2_k or q3_k block, and the bits they are in.
inline int pairs_at(int g) { return 32 * (g >> 3) + 16 * (g & 1); }
inline int pairs_shift(int g) { return 2 * ((g >> 1) & 3); }

inline uint32_t read_u32(const uint8_t* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

} // namespace

void decode_f32(const void* blocks, float* out, int64_t count) {
  if (count > 0) memcpy(out, blocks, count * sizeof(float));
}

void decode_f16(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count; i++) out[i] = read_f16(at + 2 * i);
}

void decode_bf16(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count; i++) out[i] = bf16_value(uint16_t(at[2 * i] | (at[2 * i + 1] << 8)));
}

// f16 d, 16 bytes q: x = (q - 8) * d; element j is the low nibble of byte j, element j + 16 the high one.
void decode_q4_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const float d = read_f16(at);
    const uint8_t* q = at + 2;
    for (int j = 0; j < 16; j++) {
      out[j] = float((q[j] & 15) - 8) * d;
      out[j + 16] = float((q[j] >> 4) - 8) * d;
    }
  }
}

// f16 d, f16 m, 16 bytes q as q4_0: x = q * d + m.
void decode_q4_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 20, out += 32) {
    const float d = read_f16(at);
    const float m = read_f16(at + 2);
    const uint8_t* q = at + 4;
    for (int j = 0; j < 16; j++) {
      out[j] = float(q[j] & 15) * d + m;
      out[j + 16] = float(q[j] >> 4) * d + m;
    }
  }
}

// f16 d, 32 fifth bits (bit j of element j), 16 bytes of low nibbles as q4_0: x = (q - 16) * d.
void decode_q5_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 22, out += 32) {
    const float d = read_f16(at);
    const uint32_t fifth = read_u32(at + 2);
    const uint8_t* q = at + 6;
    for (int j = 0; j < 16; j++) {
      out[j] = float(int((q[j] & 15) | ((fifth >> j & 1) << 4)) - 16) * d;
      out[j + 16] = float(int((q[j] >> 4) | ((fifth >> (j + 16) & 1) << 4)) - 16) * d;
    }
  }
}

// f16 d, f16 m, 32 fifth bits, 16 bytes of low nibbles as q5_0: x = q * d + m.
void decode_q5_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 24, out += 32) {
    const float d = read_f16(at);
    const float m = read_f16(at + 2);
    const uint32_t fifth = read_u32(at + 4);
    const uint8_t* q = at + 8;
    for (int j = 0; j < 16; j++) {
      out[j] = float(int((q[j] & 15) | ((fifth >> j & 1) << 4))) * d + m;
      out[j + 16] = float(int((q[j] >> 4) | ((fifth >> (j + 16) & 1) << 4))) * d + m;
    }
  }
}

// f16 d, 32 int8 q: x = q * d.
void decode_q8_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 34, out += 32) {
    const float d = read_f16(at);
    const auto* q = reinterpret_cast<const int8_t*>(at + 2);
    for (int j = 0; j < 32; j++) out[j] = float(q[j]) * d;
  }
}

// 16 bytes (scale low nibble, min high nibble), 64 bytes of bit pairs, f16 d, f16 dmin: x = d * scale * q - dmin * min
// for 16 groups of 16.
void decode_q2_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 84, out += 256) {
    const float d = read_f16(at + 80);
    const float dmin = read_f16(at + 82);
    for (int g = 0; g < 16; g++) {
      const float scale = d * float(at[g] & 15);
      const float min = dmin * float(at[g] >> 4);
      const uint8_t* q = at + 16 + pairs_at(g);
      for (int l = 0; l < 16; l++) out[16 * g + l] = scale * float((q[l] >> pairs_shift(g)) & 3) - min;
    }
  }
}

// 32 bytes of third bits (group g: bit g / 2 of bytes 16 * (g & 1)), 64 bytes of bit pairs as q2_k, 12 bytes of scales,
// f16 d: x = d * scale * (q - 4) for 16 groups of 16.
void decode_q3_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 110, out += 256) {
    const float d = read_f16(at + 108);
    for (int g = 0; g < 16; g++) {
      const float scale = d * float(packed_signed_scale(at + 96, g));
      const uint8_t* q = at + 32 + pairs_at(g);
      const uint8_t* third = at + 16 * (g & 1);
      for (int l = 0; l < 16; l++)
        out[16 * g + l] = scale * float(((q[l] >> pairs_shift(g) & 3) | ((third[l] >> (g >> 1) & 1) << 2)) - 4);
    }
  }
}

// f16 d, f16 dmin, 12 bytes of scales and minimums, 128 bytes q: x = d * scale * q - dmin * min for 8 groups of 32;
// group g is in bytes 32 * (g / 2), the low nibbles where g is even.
void decode_q4_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 144, out += 256) {
    const float d = read_f16(at);
    const float dmin = read_f16(at + 2);
    for (int g = 0; g < 8; g++) {
      const float scale = d * float(packed_scale(at + 4, g));
      const float min = dmin * float(packed_min(at + 4, g));
      const uint8_t* q = at + 16 + 32 * (g >> 1);
      for (int l = 0; l < 32; l++) out[32 * g + l] = scale * float((q[l] >> 4 * (g & 1)) & 15) - min;
    }
  }
}

// q4_k with 32 bytes of fifth bits (bit g of group g) before the low nibbles.
void decode_q5_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 176, out += 256) {
    const float d = read_f16(at);
    const float dmin = read_f16(at + 2);
    const uint8_t* fifth = at + 16;
    for (int g = 0; g < 8; g++) {
      const float scale = d * float(packed_scale(at + 4, g));
      const float min = dmin * float(packed_min(at + 4, g));
      const uint8_t* q = at + 48 + 32 * (g >> 1);
      for (int l = 0; l < 32; l++)
        out[32 * g + l] = scale * float((q[l] >> 4 * (g & 1) & 15) | ((fifth[l] >> g & 1) << 4)) - min;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of high pairs, 16 int8 scales, f16 d: x = d * scale * (q - 32) for 16 groups of 16.
// With quarter = g / 2 & 3, group g has its low nibbles in bytes 64 * (g / 8) + 32 * (quarter & 1) + 16 * (g & 1), the
// low half of them where quarter < 2, and its high pairs in bytes 32 * (g / 8) + 16 * (g & 1), bits 2 * quarter.
void decode_q6_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 210, out += 256) {
    const float d = read_f16(at + 208);
    const auto* scales = reinterpret_cast<const int8_t*>(at + 192);
    for (int g = 0; g < 16; g++) {
      const int quarter = (g >> 1) & 3;
      const float scale = d * float(scales[g]);
      const uint8_t* low = at + 64 * (g >> 3) + 32 * (quarter & 1) + 16 * (g & 1);
      const uint8_t* high = at + 128 + pairs_at(g);
      for (int l = 0; l < 16; l++)
        out[16 * g + l] = scale * float(((low[l] >> 4 * (quarter >> 1) & 15) | ((high[l] >> 2 * quarter & 3) << 4)) - 32);
    }
  }
}

// f16 d, 16 bytes q as q4_0: x = d * values[q].
void decode_iq4_nl(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const float d = read_f16(at);
    const uint8_t* q = at + 2;
    for (int j = 0; j < 16; j++) {
      out[j] = d * float(iq4_values[q[j] & 15]);
      out[j + 16] = d * float(iq4_values[q[j] >> 4]);
    }
  }
}

// f16 d, 2 bytes of upper pairs and 4 of low nibbles of 8 scales, 128 bytes q: x = d * (scale - 32) * values[q] for 8 groups
// of 32, each 16 bytes as q4_0.
void decode_iq4_xs(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 136, out += 256) {
    const float d = read_f16(at);
    for (int g = 0; g < 8; g++) {
      const int low = at[4 + g / 2] >> 4 * (g % 2) & 15, high = at[2 + g / 4] >> 2 * (g % 4) & 3;
      const float scale = d * float((low | high << 4) - 32);
      const uint8_t* q = at + 8 + 16 * g;
      for (int j = 0; j < 16; j++) {
        out[32 * g + j] = scale * float(iq4_values[q[j] & 15]);
        out[32 * g + j + 16] = scale * float(iq4_values[q[j] >> 4]);
      }
    }
  }
}

// A byte e, 16 bytes q as q4_0: x = 2^(e - 128) * values[q], since the values are doubled.
void decode_mxfp4(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 17, out += 32) {
    const float d = float_of(at[0] < 2 ? 0x00200000u << at[0] : uint32_t(at[0] - 1) << 23);
    const uint8_t* q = at + 1;
    for (int j = 0; j < 16; j++) {
      out[j] = d * float(fp4_values[q[j] & 15]);
      out[j + 16] = d * float(fp4_values[q[j] >> 4]);
    }
  }
}

// Ours, what the formats iq1, iq2, iq3 and tq become at load (@quern/quant, iq8.ts): f32 d, 16 int8 scales, 256 int8 q:
// x = d * scale * q for 16 groups of 16.
void decode_iq8(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 276, out += 256) {
    float d;
    memcpy(&d, at, sizeof d);
    const auto* scales = reinterpret_cast<const int8_t*>(at + 4);
    const auto* q = reinterpret_cast<const int8_t*>(at + 20);
    for (int i = 0; i < 256; i++) out[i] = d * float(scales[i / 16]) * float(q[i]);
  }
}

} // namespace quern::scalar
