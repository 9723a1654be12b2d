// Limits of a container or service manager on this process (Linux control groups, v1 and v2).
#pragma once
#include <stdint.h>

#include <string>

namespace quern {

// CPU quota: seconds of processor time per second; 0: no limit. `system` is the folder that has proc and sys in it.
double cgroup_cpus(const std::string& system = "");

struct MemoryLimit {
  uint64_t total;     // bytes allowed
  uint64_t available; // bytes allowed and not used; droppable page cache counts as free
};

// The tightest memory limit; both fields are UINT64_MAX if there is no limit.
MemoryLimit cgroup_memory(const std::string& system = "");

} // namespace quern
