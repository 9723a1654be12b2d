#include "quern/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quern/linux/cgroup.h"
#include "quern/linux/cores.h"
#include "quern/system-machine.h"

namespace quern {

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

int usable_cores() {
  const auto cpus = allowed_cpus();
  return cpus.empty() ? static_cast<int>(std::thread::hardware_concurrency()) : performance_cores(cpus, "/sys");
}

double cpu_quota() { return cgroup_cpus(); }

uint64_t written_bytes() {
  std::ifstream in("/proc/self/statm");
  uint64_t size, resident, shared; // pages; `shared`: of files
  if (!(in >> size >> resident >> shared)) return std::numeric_limits<uint64_t>::max();
  return (resident - std::min(resident, shared)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
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

MemoryState system_memory() {
  const MemoryLimit group = cgroup_memory();
  return {std::min(meminfo("MemTotal"), group.total), std::min(meminfo("MemAvailable"), group.available)};
}

} // namespace quern
