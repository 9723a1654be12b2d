// Waiting briefly without giving up the processor.
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

// Time that a waiting thread spins: longer than the single-threaded ops between two parallel ops, shorter than the cost of
// parking and waking.
inline constexpr auto spin_time = std::chrono::microseconds(25);

// Polls `ready` until true or until spin_time has passed. Returns the last value.
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
