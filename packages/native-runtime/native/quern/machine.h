// What this process may use of the machine.
#pragma once
#include <stdint.h>

namespace quern {

// How many threads should compute where nobody says it: one per physical core that this process may run on, without the
// slow cores of a machine that has fast ones, and no more than a control group's quota feeds. At least 1.
int default_threads();

struct MemoryState {
  uint64_t total;     // bytes that the machine has, or a control group allows
  uint64_t available; // bytes that can be taken now without swapping or being killed
};
MemoryState memory_state();

} // namespace quern
