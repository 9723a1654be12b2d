#include "quern/page-pool.h"

#include <sys/mman.h>

#include <algorithm>

#include "quern/failure.h"
#include "quern/pages.h"

namespace quern {

// A mapping at a multiple of a huge page. Memory is taken when a block is written.
class PagePool::Slab {
 public:
  static constexpr uint64_t page = 4096, huge = 2 << 20, usual_bytes = 64 << 20;
  static uint64_t rounded_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

  explicit Slab(uint64_t bytes) : mapped_bytes_(rounded_up(bytes, huge) + huge) {
    mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped_ == MAP_FAILED) fail_refused(bytes);
    const auto address = reinterpret_cast<uint64_t>(mapped_);
    next_ = reinterpret_cast<uint8_t*>(rounded_up(address, huge));
    end_ = static_cast<uint8_t*>(mapped_) + mapped_bytes_;
#if defined(MADV_HUGEPAGE)
    madvise(next_, end_ - next_, MADV_HUGEPAGE); // a hint: an error changes nothing
#endif
  }
  ~Slab() { munmap(mapped_, mapped_bytes_); }
  Slab(const Slab&) = delete;

  // Null if there is no room.
  uint8_t* take(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(end_ - next_)) return nullptr;
    next_ += bytes;
    return next_ - bytes;
  }

 private:
  void* mapped_;
  const uint64_t mapped_bytes_;
  uint8_t *next_, *end_;
};

static void give_back([[maybe_unused]] uint8_t* block, [[maybe_unused]] uint64_t bytes) {
#if defined(MADV_DONTNEED)
  madvise(block, bytes, MADV_DONTNEED);
#endif
}

std::shared_ptr<uint8_t> PagePool::take(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  need_available(bytes);
  const uint64_t taken = Slab::rounded_up(bytes, Slab::page);
  const std::lock_guard lock(mutex_);
  uint8_t* block = slab_ ? slab_->take(taken) : nullptr;
  std::shared_ptr<Slab> slab = slab_;
  if (!block) {
    slab = std::make_shared<Slab>(std::max(taken, Slab::usual_bytes));
    block = slab->take(taken);
    if (taken < Slab::usual_bytes) slab_ = slab;
  }
  return {block, [slab, taken, reserved = std::make_shared<Reserved>(taken)](uint8_t* data) { give_back(data, taken); }};
}

} // namespace quern
