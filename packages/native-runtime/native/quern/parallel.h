// Loops whose iterations may run on several threads.
#pragma once
#include <stdint.h>

#include <functional>

namespace quern {

class Parallel {
 public:
  virtual ~Parallel() = default;
  // Calls body(i) once for each i in [0, count), in any order; returns after all calls. `body` must not throw.
  virtual void each(int64_t count, const std::function<void(int64_t)>& body) = 0;
};

// On the caller's thread only.
class OneByOne : public Parallel {
 public:
  void each(int64_t count, const std::function<void(int64_t)>& body) override {
    for (int64_t i = 0; i < count; i++) body(i);
  }
};

} // namespace quern
