// Sleeps of this thread that are as short as they are asked for: a file in unix/, one in windows/.
#pragma once
#include <chrono>

namespace quern::cuda {

class ExactSleeps {
 public:
  ExactSleeps();
  ~ExactSleeps();
  ExactSleeps(const ExactSleeps&) = delete;

  void sleep_for(std::chrono::nanoseconds time) const;

 private:
  [[maybe_unused]] void* timer_ = nullptr; // Windows'
};

} // namespace quern::cuda
