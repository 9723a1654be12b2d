// Time of short work on a machine that other processes use too.
#pragma once
#include <algorithm>
#include <chrono>

namespace quern {

inline double seconds_of(const auto& work) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The least of some passes: another process may take the processor in one of them.
inline double least_seconds(int passes, const auto& work) {
  double least = seconds_of(work);
  while (--passes > 0) least = std::min(least, seconds_of(work));
  return least;
}

} // namespace quern
