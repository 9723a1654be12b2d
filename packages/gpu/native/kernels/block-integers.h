// Sums and the largest of 64-bit integers over the threads of a block. `partial`: an element per warp, free again at the end.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct RunningSum {
  uint64_t before, all; // over the threads before this one, over all
};

FUNCTION RunningSum block_running_sum(uint64_t x, Shared<uint64_t> partial) {
  uint64_t through = x; // over the lanes up to this one
  for (int apart = 1; apart < WARP; apart *= 2) {
    const uint64_t lower = shuffle_long(through, (lane() - apart) & (WARP - 1));
    if (lane() >= apart) through += lower;
  }
  if (lane() == WARP - 1) partial[warp()] = through;
  barrier();
  RunningSum sum = {through - x, 0};
  for (int i = 0; i < block_threads() / WARP; i++) {
    if (i < warp()) sum.before += partial[i];
    sum.all += partial[i];
  }
  barrier();
  return sum;
}

FUNCTION uint64_t block_integer_max(uint64_t x, Shared<uint64_t> partial) {
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    const uint64_t other = shuffle_long(x, lane() ^ apart);
    if (other > x) x = other;
  }
  if (lane() == 0) partial[warp()] = x;
  barrier();
  uint64_t highest = 0;
  for (int i = 0; i < block_threads() / WARP; i++)
    if (partial[i] > highest) highest = partial[i];
  barrier();
  return highest;
}

} // namespace gpu
} // namespace quern
