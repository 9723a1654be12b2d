#pragma once

namespace quern::neon {

void decode_f16(const void* blocks, float* out, int64_t count) { f16_to_f32(static_cast<const uint16_t*>(blocks), out, count); }

} // namespace quern::neon
