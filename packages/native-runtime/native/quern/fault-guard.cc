#include "quern/fault-guard.h"

#include <mutex>

#include "quern/guarded-range.h"

namespace quern {

static std::atomic<GuardedRange*> ranges{nullptr};
static std::atomic<bool> some_lost{false};
static std::mutex changing; // held to add or remove a range

GuardedRange* guarded_range(uintptr_t address) {
  for (GuardedRange* range = ranges.load(); range; range = range->next)
    if (address >= range->start.load() && address < range->end.load()) return range;
  return nullptr;
}

void mark_lost(GuardedRange& range) {
  range.lost = true;
  some_lost = true;
}

static GuardedRange* free_range() {
  for (GuardedRange* range = ranges.load(); range; range = range->next)
    if (range->end.load() == 0) return range;
  auto* const range = new GuardedRange;
  range->next = ranges.load();
  ranges = range;
  return range;
}

FaultGuard::FaultGuard(const uint8_t* data, uint64_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_fault_handler);
  const std::lock_guard lock(changing);
  range_ = free_range();
  range_->lost = false;
  range_->start = reinterpret_cast<uintptr_t>(data);
  range_->end = reinterpret_cast<uintptr_t>(data) + bytes;
}

FaultGuard::~FaultGuard() {
  const std::lock_guard lock(changing);
  range_->end = 0;
}

bool FaultGuard::lost() const { return range_->lost; }

bool FaultGuard::any_lost() { return some_lost; }

} // namespace quern
