#pragma once
#include "fields.h"

namespace quern::scalar {

void decode_f16(const void* blocks, float* out, int64_t count) {
  const auto* at = static_cast<const uint8_t*>(blocks);
  for (int64_t i = 0; i < count; i++) out[i] = read_f16(at + 2 * i);
}

} // namespace quern::scalar
