// CudaGpu: marks, and waits that have an end.
#include <algorithm>
#include <chrono>

#include "cuda/cuda-gpu.h"
#include "cuda/exact-sleeps.h"
#include "quern/failure.h"
#include "quern/spin.h"

namespace quern::cuda {

namespace {

using Clock = std::chrono::steady_clock;

// Polls `ended` until true, or until `seconds` have passed; returns the last value. Between polls it sleeps for a 64th of the time so
// far, 20 µs to 1 ms: an end is seen at most that late, which is as late as a wake-up by the driver for waits of a few ms.
bool sleep_until(const std::function<bool()>& ended, double seconds) {
  using std::chrono::microseconds;
  const ExactSleeps exact;
  const auto start = Clock::now();
  for (bool last = false;;) {
    if (ended()) return true;
    if (last) return false;
    const auto passed = Clock::now() - start;
    last = std::chrono::duration<double>(passed).count() >= seconds;
    exact.sleep_for(std::clamp<Clock::duration>(passed / 64, microseconds(20), microseconds(1000)));
  }
}

}  // namespace

void CudaGpu::wait_for(const std::function<Result()>& query, const std::function<std::string()>& what) {
  Result result = not_ready;
  const auto ended = [&] { return (result = query()) != not_ready; };
  if (!spin(ended) && !sleep_until(ended, wait_limit_)) {
    hangs_ = true;
    shared_->keep();
    fail_for_ever(text("%s did not end on %s within %g seconds (QUERN_CUDA_WAIT)", what().c_str(), label_.c_str(), wait_limit_));
  }
  if (result != 0) need(result, what().c_str());
}

// A kernel that runs often is named once.
std::string CudaGpu::running(uint64_t launches) const {
  constexpr size_t most = 8;
  std::vector<std::string_view> names;
  for (size_t i = 0; ended_ + i < launches; i++)
    if (std::ranges::find(names, launched_[i]) == names.end()) names.push_back(launched_[i]);
  if (names.empty()) return "a copy";
  std::string shown(names.size() == 1 ? "the kernel " : "one of the kernels ");
  for (size_t i = 0; i < std::min(names.size(), most); i++) shown.append(i > 0 ? ", " : "").append(names[i]);
  return names.size() > most ? shown + text(" and %zu others", names.size() - most) : shown;
}

void CudaGpu::have_ended(uint64_t launches) {
  if (launches <= ended_) return;
  launched_.erase(launched_.begin(), launched_.begin() + ptrdiff_t(launches - ended_));
  ended_ = launches;
}

void CudaGpu::finish() {
  enter();
  wait_for([&] { return driver_.stream_query(stream_); }, [&] { return running(launches()); });
  have_ended(launches());
  busy_ = false;
  free_released();
}

int CudaGpu::mark() {
  enter_queue();
  if (size_t(marks_) == events_.size()) {
    Event event = nullptr;
    need(driver_.event_create(&event, 0), "making an event");
    events_.push_back(event);
    launches_before_.push_back(0);
  }
  mark_again(marks_);
  return marks_++;
}

void CudaGpu::mark_again(int mark) {
  enter_queue();
  behind_launch_ = false;
  need_queued(driver_.event_record(events_[size_t(mark)], stream_), "recording an event");
  launches_before_[size_t(mark)] = launches();
}

void CudaGpu::wait(int mark) {
  enter_queue();
  const uint64_t before = launches_before_[size_t(mark)];
  wait_for([&] { return driver_.event_query(events_[size_t(mark)]); }, [&] { return running(before); });
  have_ended(before);
}

double CudaGpu::milliseconds(int from, int to) {
  float elapsed = 0;
  need(driver_.event_elapsed(&elapsed, events_[size_t(from)], events_[size_t(to)]), "reading an event");
  return elapsed;
}

}  // namespace quern::cuda
