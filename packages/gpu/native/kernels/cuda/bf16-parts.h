// Floats as sums of numbers of bf16, for tensor cores.
#pragma once
#include "../formats.h"

namespace quern {
namespace gpu {

// Eight floats as bf16: rounded to nearest if LAST, otherwise their upper halves. Leaves what remains of the floats; nothing of
// infinity.
template <bool LAST>
FUNCTION Uint4 take_part(Eight& eight) {
  unsigned words[4];
  UNROLL for (int i = 0; i < 8; i++) {
    const unsigned part = LAST ? unsigned(to_bf16(eight.values[i])) : to_bits(eight.values[i]) >> 16;
    words[i / 2] = i % 2 == 0 ? part : words[i / 2] | part << 16;
    if (LAST) continue;
    const float rest = rounded_sum(eight.values[i], -from_bits(part << 16));
    eight.values[i] = is_nan(rest) ? 0.0f : rest;
  }
  return Uint4{words[0], words[1], words[2], words[3]};
}

} // namespace gpu
} // namespace quern
