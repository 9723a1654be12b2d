// A condition variable. On Unix, std::condition_variable::wait, compiled by g++ ≥ 12, needs GLIBCXX_3.4.30: systems with glibc 2.34
// (RHEL 9) have an older libstdc++. The class of Unix needs no libstdc++ symbol. On Windows the C++ library is inside the addon, and
// pthread.h may be missing.
#pragma once
#include <mutex>

#if defined(_WIN32)
#include <condition_variable>
#else
#include <pthread.h>
#endif

namespace quern {

class Condition {
 public:
  Condition() = default;
  Condition(const Condition&) = delete;

#if defined(_WIN32)
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    condition_.wait(lock, ready);
  }
  void wake_one() { condition_.notify_one(); }
  void wake_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
#else
  ~Condition() { pthread_cond_destroy(&condition_); }

  // Releases the lock until woken with `ready()` true.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    while (!ready()) pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
#endif
};

} // namespace quern
