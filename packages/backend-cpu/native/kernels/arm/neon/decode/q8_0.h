#pragma once

namespace quern::neon {

void decode_q8_0(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (const float* end = out + count; out < end; at += 34, out += 32) {
    const float d = read_f16(at);
    put(out, as_signed(bytes(at + 2)), d);
    put(out + 16, as_signed(bytes(at + 18)), d);
  }
}

} // namespace quern::neon
