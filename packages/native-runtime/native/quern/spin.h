// Waiting for a moment without giving up the processor.
#pragma once
#include <chrono>

namespace quern {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// How long a thread that waits for work keeps its processor: longer than the single-threaded ops between two parallel
// ones, shorter than what parking and waking would cost.
inline constexpr auto spin_time = std::chrono::microseconds(25);

// Looks at `ready` until it is true or spin_time is over; returns what it saw last.
template <class Ready>
bool spin(const Ready& ready) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 16; i++) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return ready();
}

} // namespace quern
