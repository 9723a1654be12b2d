#include "runtime/machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include "runtime/cgroup.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace quern {

static int affinity() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

int usable_cpus() {
  int cpus = affinity();
  const double quota = cgroup_cpus();
  if (quota > 0) cpus = std::min(cpus, static_cast<int>(std::ceil(quota)));
  return std::max(1, cpus);
}

// Bytes of a line of /proc/meminfo; no limit where it cannot be read.
static uint64_t meminfo(const std::string& key) {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kib; in >> name >> kib;) {
    if (name == key + ":") return kib * 1024;
    std::getline(in, unit);
  }
  return std::numeric_limits<uint64_t>::max();
}

MemoryState memory_state() {
  const MemoryLimit group = cgroup_memory();
  return {std::min(meminfo("MemTotal"), group.total), std::min(meminfo("MemAvailable"), group.available)};
}

} // namespace quern
