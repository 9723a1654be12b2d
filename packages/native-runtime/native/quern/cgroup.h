// Limits that a container or service manager puts on this process (Linux control groups, v1 and v2).
#pragma once
#include <stdint.h>

#include <string>

namespace quern {

// Processors' worth of time per second that the process may use; 0 where there is no limit. `system` is the folder that
// has proc and sys in it.
double cgroup_cpus(const std::string& system = "");

struct MemoryLimit {
  uint64_t total;     // bytes allowed in all
  uint64_t available; // of them not yet used; page cache that can be dropped counts as free
};

// The tightest memory limit; both are UINT64_MAX where there is none.
MemoryLimit cgroup_memory(const std::string& system = "");

} // namespace quern
