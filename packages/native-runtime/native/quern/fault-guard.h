// Pages of mapped files that cannot be read: the file has been cut short, or the disk fails. The system then sends SIGBUS,
// which would end the process.
#pragma once
#include <stdint.h>

namespace quern {

struct GuardedRange;

// Guards a mapping for as long as it lives: from the first page that cannot be read to the end, the mapping becomes zeros, and
// `lost` tells. SIGBUS for any other address goes to whoever handled it before.
class FaultGuard {
 public:
  FaultGuard(const uint8_t* data, uint64_t bytes);
  ~FaultGuard();
  FaultGuard(const FaultGuard&) = delete;

  bool lost() const;
  // Whether any mapping of this process has ever lost pages.
  static bool any_lost();

 private:
  GuardedRange* range_;
};

} // namespace quern
