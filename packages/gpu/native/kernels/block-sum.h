// Sums over the threads of a block.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// The sum of x over the lanes of a warp, in every lane; in the same order in every lane.
FUNCTION float warp_sum(float x) {
  for (int apart = WARP / 2; apart > 0; apart /= 2) x += shuffle_xor(x, apart);
  return x;
}

// The sum of x over all threads, in every thread. `sums`: an element per warp; free again after the caller's next barrier.
FUNCTION float block_sum(float x, Shared<float> sums) {
  x = warp_sum(x);
  if (lane() == 0) sums[warp()] = x;
  barrier();
  float total = 0;
  for (int i = 0; i < block_threads() / WARP; i++) total += sums[i];
  return total;
}

} // namespace gpu
} // namespace quern
