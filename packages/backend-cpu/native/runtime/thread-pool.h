// Threads of a backend. They share the chunks of one parallel loop at a time.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "quern/parallel.h"

namespace quern {

class ThreadPool : public Parallel {
 public:
  // `threads` includes the caller of run: threads − 1 are started. Throws DEVICE_FAILED if the system refuses one.
  explicit ThreadPool(int threads);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(chunk, thread) once for each chunk in [0, chunks); returns when all are done. A free thread takes the next
  // chunk; thread is in [0, threads()), 0 is the caller. A chunk should take ≥ 5 µs. Sleeping threads wake for ≥
  // wake_chunks chunks; awake threads share fewer. `worth`: the total in units of 5 µs, if chunks take much longer. One
  // caller at a time; body must not throw. Throws ABORTED after `cancel`; then some chunks may not have been called.
  template <class Body>
  void run(int64_t chunks, const Body& body, int64_t worth = 0) {
    if (chunks <= 1 || workers_.empty())
      for (int64_t chunk = 0; chunk < chunks && !cancelled(); chunk++) body(chunk, 0);
    else run_job({&body, call<Body>, chunks, std::min<int64_t>(chunks, threads())}, std::max(chunks, worth) >= wake_chunks);
    need_running();
  }

  void each(int64_t count, const std::function<void(int64_t)>& body) override {
    run(count, [&](int64_t i, int) { body(i); });
  }

  // Ends the current loop after the chunks in progress, and all later loops. Any thread.
  void cancel() { cancelled_ = true; }
  // Throws ABORTED after `cancel`.
  void need_running() const {
    if (cancelled()) fail_cancelled();
  }

 private:
  struct Job {
    const void* body;
    void (*call)(const void* body, int64_t chunk, int thread);
    int64_t chunks, ranges;
  };

  // Neighbouring chunks, [next, end). A thread takes the chunks of its own range first, then those of the others: it reads
  // memory in order, and its prefetches beyond a chunk are of use.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  template <class Body>
  static void call(const void* body, int64_t chunk, int thread) {
    (*static_cast<const Body*>(body))(chunk, thread);
  }

  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  [[noreturn]] static void fail_cancelled();
  void start(int threads);
  void stop();
  void run_job(const Job& job, bool wake);
  void take_chunks(int thread);
  void divide(const Job& job);
  void take_range(const Job& job, Range& range, int thread);
  void work(int thread);
  bool join(uint32_t& seen);
  void leave();
  bool has_news(uint32_t seen) const;

  // A thread sleeps on a counter of calls. It announces itself, checks once more for work, and sleeps if no call has come
  // since. So either it sees the change, or the thread that made the change sees the sleeper and calls.
  struct Bell {
    alignas(64) std::atomic<uint32_t> calls{0};
    std::atomic<bool> sleepers{false};

    template <class Ready>
    void sleep_until(const Ready& ready);
    void ring();
  };

  // Waking a thread costs its caller 7 µs, and the thread starts about 10 µs later. Fewer chunks: the caller alone is as
  // fast.
  static constexpr int64_t wake_chunks = 8;

  // A job is open while its caller hands out chunks. A thread enters an open job by adding 1 to the count of active
  // threads. The caller returns when the job is closed and no thread is active: a thread that the system never scheduled
  // delays nothing. One word: [generation | open | active].
  static constexpr uint32_t active_bits = 0x3ff, open_bit = 0x400, generation_step = 0x800;
  alignas(64) std::atomic<uint32_t> state_{0};
  Job job_{};
  std::vector<Range> ranges_; // job_.ranges of them are in use

  std::atomic<bool> stopping_{false}, cancelled_{false};
  Bell work_arrived_, job_left_;
  std::vector<std::thread> workers_;
};

} // namespace quern
