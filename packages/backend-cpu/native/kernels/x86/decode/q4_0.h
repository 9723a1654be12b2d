#pragma once

namespace quern::QUERN_ISA {

void decode_q4_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 18, out += 32) {
    const Floats d = set(read_f16(at));
    const __m128i q = bytes(at + 2);
    put(out, less(low_nibbles(q), 8), d);
    put(out + 16, less(high_nibbles(q), 8), d);
  }
}

} // namespace quern::QUERN_ISA
