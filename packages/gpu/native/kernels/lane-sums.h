// Sums of several values over the lanes of a warp.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// COUNT values of a lane: 1, 2, … 32.
template <int COUNT>
struct LaneSums {
  float of[COUNT];
};

// The sum of values i over the lanes of a warp, in lane i: with the bits of warp_sum. Lanes that add half of the values give the other
// half away, so that 32 sums take 31 shuffles.
template <int COUNT>
FUNCTION float warp_sums(LaneSums<COUNT> values) {
  UNROLL for (int step = 0; step < 5; step++) {
    const int kept = COUNT >> (step + 1), apart = WARP >> (step + 1);
    const bool upper = (lane() & apart) != 0;
    UNROLL for (int i = 0; i < COUNT / 2; i++)
      if (i < kept) {
        const float low = values.of[i], high = values.of[i + kept];
        values.of[i] = (upper ? high : low) + shuffle_xor(upper ? low : high, apart);
      }
    if (kept == 0) values.of[0] += shuffle_xor(values.of[0], apart);
  }
  const float sum = values.of[0]; // of value lane · COUNT / WARP
  return COUNT == 1 || COUNT == WARP ? sum : shuffle(sum, lane() % COUNT * (WARP / COUNT));
}

} // namespace gpu
} // namespace quern
