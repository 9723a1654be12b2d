// Resources of the machine that this process may use.
#pragma once
#include <stdint.h>

namespace quern {

// Default number of threads: one per physical core that this process may run on, without slow cores on a machine with fast
// ones, and at most the CPU quota of the control group. Result ≥ 1.
int default_threads();

struct MemoryState {
  uint64_t total;     // bytes of the machine, or the limit of a control group
  uint64_t available; // bytes available without swapping or being killed, nor promised to this process
};
MemoryState memory_state();

// Bytes of this process in memory, without files. All ones if unknown.
uint64_t written_bytes();

} // namespace quern
