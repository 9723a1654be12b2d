// What this process may use of the machine.
#pragma once
#include <stdint.h>

namespace quern {

// Processors this process may run on: its affinity, less what a control group takes away. At least 1.
int usable_cpus();

struct MemoryState {
  uint64_t total;     // bytes that the machine has, or a control group allows
  uint64_t available; // bytes that can be taken now without swapping or being killed
};
MemoryState memory_state();

} // namespace quern
