// Loops whose rounds may run on several threads.
#pragma once
#include <stdint.h>

#include <functional>

namespace quern {

class Parallel {
 public:
  virtual ~Parallel() = default;
  // Calls body(i) once for every i of [0, count), in any order; returns when all are done. `body` must not throw.
  virtual void each(int64_t count, const std::function<void(int64_t)>& body) = 0;
};

// On the caller's thread alone.
class OneByOne : public Parallel {
 public:
  void each(int64_t count, const std::function<void(int64_t)>& body) override {
    for (int64_t i = 0; i < count; i++) body(i);
  }
};

} // namespace quern
