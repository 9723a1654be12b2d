#include "quern/machine.h"

#include <algorithm>
#include <cmath>

#include "quern/pages.h"
#include "quern/system-machine.h"

namespace quern {

int default_threads() {
  int threads = usable_cores();
  const double quota = cpu_quota();
  if (quota > 0) threads = std::min(threads, static_cast<int>(std::ceil(quota)));
  return std::max(1, threads);
}

// Bytes that this process holds and has not written yet, without what the rest of the process takes.
static uint64_t unwritten_bytes() {
  const uint64_t held = reserved_bytes();
  return held - std::min(held, written_bytes());
}

// Without memory that is promised already: a cache fills while texts grow.
MemoryState memory_state() {
  MemoryState state = system_memory();
  state.available -= std::min(state.available, unwritten_bytes());
  return state;
}

} // namespace quern
