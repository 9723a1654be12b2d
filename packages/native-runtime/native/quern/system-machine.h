// The machine as the system describes it: a file in linux/, one in darwin/, one in windows/.
#pragma once
#include "quern/machine.h"

namespace quern {

// Physical cores that this process may run on, without slow cores on a machine with fast ones.
int usable_cores();

// Seconds of processor time per second that this process may take; 0: no limit.
double cpu_quota();

// As memory_state; promised memory counts as available.
MemoryState system_memory();

} // namespace quern
