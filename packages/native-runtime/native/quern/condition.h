// A condition variable. std::condition_variable::wait, compiled by g++ ≥ 12, needs GLIBCXX_3.4.30. Systems with glibc 2.34
// (RHEL 9) have an older libstdc++. This class needs no libstdc++ symbol.
#pragma once
#include <pthread.h>

#include <mutex>

namespace quern {

class Condition {
 public:
  Condition() = default;
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;

  // Releases the lock until woken with `ready()` true.
  template <class Ready>
  void wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    while (!ready()) pthread_cond_wait(&condition_, lock.mutex()->native_handle());
  }
  void wake_one() { pthread_cond_signal(&condition_); }
  void wake_all() { pthread_cond_broadcast(&condition_); }

 private:
  pthread_cond_t condition_ = PTHREAD_COND_INITIALIZER;
};

} // namespace quern
