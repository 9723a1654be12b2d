#pragma once

namespace quern::QUERN_ISA {

void decode_q3_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 110, out += 256) {
    float scales[16];
    put(scales, signed_scales(at + 96), set(read_f16(at + 108)));
    for (int part = 0; part < 4; part++) { // groups as in q2_k
      const __m128i q = bytes(at + 32 + 16 * part);
      const __m128i third = bytes(at + 16 * (part & 1));
      const int g = 8 * (part >> 1) + (part & 1);
      const int bit = 1 << (g >> 1);
      const auto value = [&](__m128i pairs, int bit_of) {
        return less(_mm_or_si128(low_bits(pairs, 3), where_bit(third, bit_of, 4)), 4);
      };
      put(out + 16 * g, value(q, bit), set(scales[g]));
      put(out + 16 * g + 32, value(_mm_srli_epi16(q, 2), bit << 1), set(scales[g + 2]));
      put(out + 16 * g + 64, value(_mm_srli_epi16(q, 4), bit << 2), set(scales[g + 4]));
      put(out + 16 * g + 96, value(_mm_srli_epi16(q, 6), bit << 3), set(scales[g + 6]));
    }
  }
}

} // namespace quern::QUERN_ISA
