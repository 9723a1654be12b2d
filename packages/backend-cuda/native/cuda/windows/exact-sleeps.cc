#include "cuda/exact-sleeps.h"

#include <thread>

#include "quern/windows/windows.h"

namespace quern::cuda {

// Usually a sleep ends with a tick of Windows' clock, up to 15.6 ms later. Before Windows 10 1803 there is no such timer.
ExactSleeps::ExactSleeps() {
  constexpr DWORD exact = 2; // CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
  timer_ = CreateWaitableTimerExW(nullptr, nullptr, exact, TIMER_ALL_ACCESS);
}

ExactSleeps::~ExactSleeps() {
  if (timer_) CloseHandle(timer_);
}

void ExactSleeps::sleep_for(std::chrono::nanoseconds time) const {
  LARGE_INTEGER due;
  due.QuadPart = -(time.count() / 100 + 1); // from now, in units of 100 ns
  if (timer_ && SetWaitableTimer(timer_, &due, 0, nullptr, nullptr, FALSE)) WaitForSingleObject(timer_, INFINITE);
  else std::this_thread::sleep_for(time);
}

} // namespace quern::cuda
