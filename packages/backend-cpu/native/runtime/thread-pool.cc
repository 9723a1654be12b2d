#include "runtime/thread-pool.h"

#include <system_error>

#include "quern/address-wait.h"
#include "quern/failure.h"
#include "quern/spin.h"
#include "quern/thread-name.h"

namespace quern {

ThreadPool::ThreadPool(int threads) : ranges_(threads) {
  try {
    start(threads);
  } catch (const std::system_error& error) {
    const size_t started = workers_.size();
    stop(); // destroying an unjoined std::thread ends the process
    fail(Code::device_failed, "the system started %zu of the backend's %d threads, then refused: %s; ask for fewer",
         started, threads - 1, error.what());
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::fail_cancelled() { fail(Code::aborted, "the backend was disposed before its work was done"); }

void ThreadPool::start(int threads) {
  workers_.reserve(threads - 1);
  for (int thread = 1; thread < threads; thread++) workers_.emplace_back(&ThreadPool::work, this, thread);
}

void ThreadPool::stop() {
  stopping_ = true;
  work_arrived_.ring();
  for (std::thread& worker : workers_) worker.join();
}

template <class Ready>
void ThreadPool::Bell::sleep_until(const Ready& ready) {
  for (;;) {
    const uint32_t heard = calls.load();
    sleepers = true;
    if (ready()) return;
    wait_while_equal(calls, heard);
  }
}

void ThreadPool::Bell::ring() {
  if (!sleepers.load() || !sleepers.exchange(false)) return; // no thread sleeps, or all are waking up
  calls++;
  wake_all(calls);
}

void ThreadPool::run_job(const Job& job, bool wake) {
  job_ = job;
  divide(job);
  const uint32_t generation = (state_.load(std::memory_order_relaxed) & ~(active_bits | open_bit)) + generation_step;
  state_.store(generation | open_bit);
  if (wake) work_arrived_.ring();
  take_chunks(0);
  state_.fetch_and(~open_bit);
  const auto done = [&] { return (state_.load() & active_bits) == 0; };
  if (!spin(done)) job_left_.sleep_until(done);
}

void ThreadPool::divide(const Job& job) {
  for (int64_t i = 0; i < job.ranges; i++) {
    ranges_[i].next.store(job.chunks * i / job.ranges, std::memory_order_relaxed);
    ranges_[i].end = job.chunks * (i + 1) / job.ranges;
  }
}

void ThreadPool::take_chunks(int thread) {
  const Job job = job_; // job_ shares a cache line with state that every thread writes: copy once
  for (int64_t i = 0; i < job.ranges; i++) take_range(job, ranges_[(thread + i) % job.ranges], thread);
}

void ThreadPool::take_range(const Job& job, Range& range, int thread) {
  while (range.next.load(std::memory_order_relaxed) < range.end) {
    const int64_t chunk = range.next.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= range.end || cancelled()) return;
    job.call(job.body, chunk, thread);
  }
}

void ThreadPool::work(int thread) {
  name_thread("quern-cpu-" + std::to_string(thread));
  uint32_t seen = 0;
  const auto news = [&] { return has_news(seen); };
  while (!stopping_) {
    if (!spin(news)) work_arrived_.sleep_until(news);
    if (!join(seen)) continue;
    take_chunks(thread);
    leave();
  }
}

bool ThreadPool::has_news(uint32_t seen) const {
  const uint32_t state = state_.load();
  return stopping_ || ((state & open_bit) && (state & ~(active_bits | open_bit)) != seen);
}

// Enters the open job. Returns false if the job has closed.
bool ThreadPool::join(uint32_t& seen) {
  uint32_t state = state_.load();
  while (state & open_bit)
    if (state_.compare_exchange_weak(state, state + 1)) {
      seen = state & ~(active_bits | open_bit);
      return true;
    }
  return false;
}

void ThreadPool::leave() {
  const uint32_t before = state_.fetch_sub(1);
  if ((before & active_bits) == 1) job_left_.ring();
}

} // namespace quern
