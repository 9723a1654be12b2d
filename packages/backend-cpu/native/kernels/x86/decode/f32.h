#pragma once

namespace quern::QUERN_ISA {

void decode_f32(const void* blocks, float* out, int64_t count) {
  if (count > 0) __builtin_memcpy(out, blocks, size_t(count) * sizeof(float));
}

} // namespace quern::QUERN_ISA
