// Unreadable pages of mapped files: the file was truncated, or the disk failed. The system then sends SIGBUS, which would
// end the process.
#pragma once
#include <stdint.h>

namespace quern {

struct GuardedRange;

// Guards a mapping while it lives. After the first unreadable page, all bytes from that page to the end become zeros, and
// `lost` returns true. SIGBUS for other addresses goes to the handler installed before.
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
