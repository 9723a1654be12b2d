#include "emulated/stream.h"

#include <stdlib.h>

namespace quern::gpu {

void Stream::add(Command command) {
  waiting_.push_back(std::move(command));
  if (waiting_.size() == 1) run(end());
}

void Stream::run(uint64_t end) try {
  asked_ = false;
  for (; done_ < end && !hangs_; done_++) {
    const Command next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
} catch (const Hang&) {
  waiting_.push_front({});
  hangs_ = true;
}

void* PinnedMemory::allocate(uint64_t bytes, uint64_t most) {
  constexpr uint64_t page = 4096;
  const uint64_t rounded = (bytes + page - 1) / page * page;
  void* const data = used_ + rounded <= most ? aligned_alloc(page, rounded) : nullptr;
  if (!data) return nullptr;
  blocks_[static_cast<uint8_t*>(data)] = rounded;
  used_ += rounded;
  return data;
}

bool PinnedMemory::free(void* data) {
  const auto found = blocks_.find(static_cast<uint8_t*>(data));
  if (found == blocks_.end()) return false;
  used_ -= found->second;
  blocks_.erase(found);
  return ::free(data), true;
}

bool PinnedMemory::holds(const void* address) const {
  const auto* const at = static_cast<const uint8_t*>(address);
  auto after = blocks_.upper_bound(at);
  if (after == blocks_.begin()) return false;
  const auto& [start, bytes] = *--after;
  return at < start + bytes;
}

}  // namespace quern::gpu
