#pragma once
#include "fields.h"

namespace quern::scalar {

void decode_bf16(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count; i++) out[i] = bf16_value(uint16_t(at[2 * i] | (at[2 * i + 1] << 8)));
}

} // namespace quern::scalar
