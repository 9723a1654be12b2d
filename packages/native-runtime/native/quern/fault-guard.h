// Unreadable pages of mapped files: the file was truncated, or the disk or the network failed. The system then sends SIGBUS, or on
// Windows raises EXCEPTION_IN_PAGE_ERROR, which would end the process.
#pragma once
#include <stdint.h>

namespace quern {

struct GuardedRange;

// Guards a mapping while it lives. After the first unreadable page, all bytes from that page to the end become zeros (on Windows all
// bytes of the mapping), and `lost` returns true. Faults at other addresses go to the handler installed before.
class FaultGuard {
 public:
  FaultGuard(const uint8_t* data, uint64_t bytes);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;

  bool lost() const;
  // Whether any mapping of this process has lost pages.
  static bool any_lost();

 private:
  GuardedRange* range_;
};

} // namespace quern
