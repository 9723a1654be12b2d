// A condition variable. What g++ 12 and later make of std::condition_variable::wait asks for a newer libstdc++
// (GLIBCXX_3.4.30) than systems with glibc 2.34 have, RHEL 9 among them; this asks for nothing.
#pragma once
#include <pthread.h>

#include <mutex>

namespace quern {

class Condition {
 public:
  Condition() = default;
  ~Condition() { pthread_cond_destroy(&condition_); }
  Condition(const Condition&) = delete;

  // Gives up the lock until it is woken and `ready` holds.
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
