// The largest number of the threads of a block.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

// NaN counts only if there is nothing else.
FUNCTION float warp_max(float x) {
  for (int apart = WARP / 2; apart > 0; apart /= 2) x = largest(x, shuffle_xor(x, apart));
  return x;
}

// The largest x of all threads, in every thread. `highs`: an element per warp; free again after the caller's next barrier.
FUNCTION float block_max(float x, Shared<float> highs) {
  x = warp_max(x);
  if (lane() == 0) highs[warp()] = x;
  barrier();
  float highest = highs[0];
  for (int i = 1; i < block_threads() / WARP; i++) highest = largest(highest, highs[i]);
  return highest;
}

} // namespace gpu
} // namespace quern
