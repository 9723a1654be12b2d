#include "quern/plain/half.h"

#include <bit>

namespace quern::plain {

float bf16_value(uint16_t half) { return std::bit_cast<float>(uint32_t(half) << 16); }

uint16_t to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), sign = (bits >> 16) & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return uint16_t(sign | 0x7e00 | ((magnitude >> 13) & 0x1ff)); // a quiet NaN
  if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00); // 65520 and above round to infinity
  if (magnitude < 0x38800000) // below 2^-14: adding 0.5 rounds to multiples of 2^-24, the spacing of f16 subnormals
    return uint16_t(sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3f000000));
  return uint16_t(sign | ((magnitude + 0xfff + ((magnitude >> 13) & 1) - 0x38000000) >> 13));
}

uint16_t to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return uint16_t((bits >> 16) | 0x40); // a quiet NaN
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

} // namespace quern::plain
