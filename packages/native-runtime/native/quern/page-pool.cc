#include "quern/page-pool.h"

#include <algorithm>

#include "quern/failure.h"
#include "quern/pages.h"
#include "quern/system-pages.h"

namespace quern {

// Reserved pages. Memory is taken when a block is written.
class PagePool::Slab {
 public:
  static constexpr uint64_t usual_bytes = 64 << 20;
  static uint64_t rounded_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

  explicit Slab(uint64_t bytes) : bytes_(rounded_up(bytes, huge_page)), data_(reserve_pages(bytes_)), next_(data_) {
    if (!data_) fail_refused(bytes);
  }
  ~Slab() { unmap_pages(data_, bytes_); }
  Slab(const Slab&) = delete;

  // Null if there is no room.
  uint8_t* take(uint64_t bytes) {
    if (bytes > static_cast<uint64_t>(data_ + bytes_ - next_)) return nullptr;
    if (!commit_pages(next_, bytes)) fail_refused(bytes);
    next_ += bytes;
    return next_ - bytes;
  }

 private:
  const uint64_t bytes_;
  uint8_t *const data_, *next_;
};

std::shared_ptr<uint8_t> PagePool::take(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  need_available(bytes);
  const uint64_t taken = Slab::rounded_up(bytes, page_bytes()); // blocks are given back by whole pages
  const std::lock_guard lock(mutex_);
  uint8_t* block = slab_ ? slab_->take(taken) : nullptr;
  std::shared_ptr<Slab> slab = slab_;
  if (!block) {
    slab = std::make_shared<Slab>(std::max(taken, Slab::usual_bytes));
    block = slab->take(taken);
    if (taken < Slab::usual_bytes) slab_ = slab;
  }
  return {block, [slab, taken, reserved = std::make_shared<Reserved>(taken)](uint8_t* data) { decommit_pages(data, taken); }};
}

} // namespace quern
