#pragma once

namespace quern::QUERN_ISA {

void decode_q4_1(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 20, out += 32) {
    const Floats d = set(read_f16(at)), m = set(read_f16(at + 2));
    const __m128i q = bytes(at + 4);
    put(out, low_nibbles(q), d, m);
    put(out + 16, high_nibbles(q), d, m);
  }
}

} // namespace quern::QUERN_ISA
