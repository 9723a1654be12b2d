#include "quern/pages.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>

#include "quern/failure.h"
#include "quern/machine.h"
#include "quern/system-pages.h"

namespace quern {

// Reading the free memory takes 0.25 ms: longer than a small allocation. So small allocations are not checked.
static constexpr uint64_t always_given = 1 << 20;

namespace {

// The last known free memory, minus allocations since. A KV cache is allocated in many pieces.
class FreeMemory {
 public:
  // Subtracts `bytes`, at most to 0. Returns the free memory before.
  uint64_t take(uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    const Clock::time_point now = Clock::now();
    if (bytes > known_ || now - read_ > fresh) {
      known_ = memory_state().available;
      read_ = now;
    }
    const uint64_t available = known_;
    known_ -= std::min(bytes, available);
    return available;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds fresh{50};

  std::mutex mutex_;
  Clock::time_point read_;
  uint64_t known_ = 0;
};

} // namespace

void need_available(uint64_t bytes) {
  if (bytes <= always_given) return;
  static FreeMemory free_memory;
  const uint64_t available = free_memory.take(bytes);
  if (bytes > available)
    fail(Code::out_of_memory, "%s of memory were asked for (%llu bytes), but %s are free (%llu bytes)",
         show_bytes(bytes).c_str(), static_cast<unsigned long long>(bytes), show_bytes(available).c_str(),
         static_cast<unsigned long long>(available));
}

void fail_refused(uint64_t bytes) {
  fail(Code::out_of_memory, "the system refused %s of memory (%llu bytes)", show_bytes(bytes).c_str(),
       static_cast<unsigned long long>(bytes));
}

static std::atomic<uint64_t> reserved{0};

uint64_t reserved_bytes() { return reserved.load(std::memory_order_relaxed); }
Reserved::Reserved(uint64_t bytes) : bytes_(bytes) { reserved.fetch_add(bytes, std::memory_order_relaxed); }
Reserved::~Reserved() { reserved.fetch_sub(bytes_, std::memory_order_relaxed); }

Pages::Pages(uint64_t bytes, Filled filled) {
  if (bytes == 0) return;
  need_available(bytes);
  data_ = map_pages(bytes, filled);
  if (!data_) fail_refused(bytes);
  bytes_ = bytes;
  reserved_ = Reserved(bytes);
}

Pages::~Pages() {
  if (data_) unmap_pages(data_, bytes_);
}

} // namespace quern
