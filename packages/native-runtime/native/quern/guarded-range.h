// What FaultGuard and the handler of faults share. The handler is the system's: unix/fault-handler.cc, windows/fault-handler.cc.
#pragma once
#include <stdint.h>

#include <atomic>

namespace quern {

// The handler walks the list of ranges without a lock. The list only grows: freed ranges are used again.
struct GuardedRange {
  std::atomic<uintptr_t> start{0}, end{0}; // end 0: free
  std::atomic<bool> lost{false};
  GuardedRange* next = nullptr;
};

// The range that has the address; null: none. For the handler, as is mark_lost.
GuardedRange* guarded_range(uintptr_t address);
void mark_lost(GuardedRange& range);

// Installs the handler, which stays.
void install_fault_handler();

} // namespace quern
