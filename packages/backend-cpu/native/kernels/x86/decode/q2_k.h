#pragma once

namespace quern::QUERN_ISA {

void decode_q2_k(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 84, out += 256) {
    float scales[16], offsets[16];
    put(scales, low_nibbles(bytes(at)), set(read_f16(at + 80)));
    put(offsets, high_nibbles(bytes(at)), set(-read_f16(at + 82)));
    for (int part = 0; part < 4; part++) { // groups 0 2 4 6, 1 3 5 7, 8 10 12 14, 9 11 13 15
      const __m128i q = bytes(at + 16 + 16 * part);
      const int g = 8 * (part >> 1) + (part & 1);
      put(out + 16 * g, low_bits(q, 3), set(scales[g]), set(offsets[g]));
      put(out + 16 * g + 32, low_bits(_mm_srli_epi16(q, 2), 3), set(scales[g + 2]), set(offsets[g + 2]));
      put(out + 16 * g + 64, low_bits(_mm_srli_epi16(q, 4), 3), set(scales[g + 4]), set(offsets[g + 4]));
      put(out + 16 * g + 96, low_bits(_mm_srli_epi16(q, 6), 3), set(scales[g + 6]), set(offsets[g + 6]));
    }
  }
}

} // namespace quern::QUERN_ISA
