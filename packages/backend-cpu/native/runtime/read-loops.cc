#include "runtime/read-loops.h"

namespace quern {

static constexpr int64_t line = 8; // words

// Prefetches the line `ahead` bytes further on; 0: no prefetch. A prefetch behind the end of the memory has no effect.
template <int64_t ahead>
static uint64_t sum(const uint64_t* words, int64_t lines) {
  uint64_t total = 0;
  for (int64_t at = 0; at < lines * line; at += line) {
    if constexpr (ahead > 0) __builtin_prefetch(reinterpret_cast<const char*>(words + at) + ahead);
    for (int64_t i = 0; i < line; i++) total += words[at + i];
  }
  return total;
}

std::span<const ReadLoop> read_loops() {
  static constexpr ReadLoop loops[] = {{"plain", sum<0>}, {"2 KiB ahead", sum<2048>}, {"4 KiB ahead", sum<4096>}};
  return loops;
}

} // namespace quern
