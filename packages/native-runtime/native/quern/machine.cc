#include "quern/machine.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quern/cgroup.h"
#include "quern/cores.h"

#if defined(__linux__)
#include <sched.h>
#endif

namespace quern {

#if defined(__linux__)

// Processors that this process may run on; empty if unknown.
static std::vector<int> allowed_cpus() {
  constexpr int most = 1 << 16; // the system refuses a set smaller than its own
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(most), [](cpu_set_t* s) { CPU_FREE(s); });
  const size_t bytes = CPU_ALLOC_SIZE(most);
  std::vector<int> cpus;
  if (!set || sched_getaffinity(0, bytes, set.get()) != 0) return cpus;
  for (int cpu = 0; cpu < most; cpu++)
    if (CPU_ISSET_S(cpu, bytes, set.get())) cpus.push_back(cpu);
  return cpus;
}

#endif

static int usable_cores() {
#if defined(__linux__)
  const auto cpus = allowed_cpus();
  if (!cpus.empty()) return performance_cores(cpus, "/sys");
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

int default_threads() {
  int threads = usable_cores();
  const double quota = cgroup_cpus();
  if (quota > 0) threads = std::min(threads, static_cast<int>(std::ceil(quota)));
  return std::max(1, threads);
}

// Bytes of a /proc/meminfo line; no limit if unreadable.
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
