#pragma once

namespace quern::QUERN_ISA {

void decode_bf16(const void* blocks, float* out, int64_t count) { bf16_to_f32(static_cast<const uint16_t*>(blocks), out, count); }

} // namespace quern::QUERN_ISA
