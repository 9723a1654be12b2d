#pragma once

namespace quern::QUERN_ISA {

void decode_q5_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 24, out += 32) {
    const Floats d = set(read_f16(at)), m = set(read_f16(at + 2));
    const uint32_t fifth = read_u32(at + 4);
    const __m128i q = bytes(at + 8);
    put(out, _mm_or_si128(low_nibbles(q), fifth_bits(fifth, false)), d, m);
    put(out + 16, _mm_or_si128(high_nibbles(q), fifth_bits(fifth, true)), d, m);
  }
}

} // namespace quern::QUERN_ISA
