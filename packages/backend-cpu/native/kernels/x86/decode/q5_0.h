#pragma once

namespace quern::QUERN_ISA {

void decode_q5_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 22, out += 32) {
    const Floats d = set(read_f16(at));
    const uint32_t fifth = read_u32(at + 2);
    const __m128i q = bytes(at + 6);
    put(out, less(_mm_or_si128(low_nibbles(q), fifth_bits(fifth, false)), 16), d);
    put(out + 16, less(_mm_or_si128(high_nibbles(q), fifth_bits(fifth, true)), 16), d);
  }
}

} // namespace quern::QUERN_ISA
