// Sums and the largest of 64-bit integers over the threads of a block. `partial`: an element per warp, free again at the end.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct RunningSum {
  unsigned long before, all; // over the threads before this one, over all
};

FUNCTION RunningSum block_running_sum(unsigned long x, Shared<unsigned long> partial) {
  unsigned long through = x; // over the lanes up to this one
  for (int apart = 1; apart < WARP; apart *= 2) {
    const unsigned long lower = shuffle_long(through, (lane() - apart) & (WARP - 1));
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

FUNCTION unsigned long block_integer_max(unsigned long x, Shared<unsigned long> partial) {
  for (int apart = WARP / 2; apart > 0; apart /= 2) {
    const unsigned long other = shuffle_long(x, lane() ^ apart);
    if (other > x) x = other;
  }
  if (lane() == 0) partial[warp()] = x;
  barrier();
  unsigned long highest = 0;
  for (int i = 0; i < block_threads() / WARP; i++)
    if (partial[i] > highest) highest = partial[i];
  barrier();
  return highest;
}

} // namespace gpu
} // namespace quern
