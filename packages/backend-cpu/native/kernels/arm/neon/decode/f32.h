#pragma once

namespace quern::neon {

void decode_f32(const void* blocks, float* out, int64_t count) {
  if (count > 0) memcpy(out, blocks, count * sizeof(float));
}

} // namespace quern::neon
