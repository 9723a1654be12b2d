// Loops that read memory and do nothing else: the fastest of them gives the read bandwidth. Processors differ in what
// their own prefetcher reaches.
#pragma once
#include <stdint.h>

#include <span>

namespace quern {

struct ReadLoop {
  const char* name; // "plain", "2 KiB ahead"
  // The sum of the words; `lines` cache lines of 8 words. Reads nothing behind them.
  uint64_t (*sum)(const uint64_t* words, int64_t lines);
};

std::span<const ReadLoop> read_loops();

} // namespace quern
