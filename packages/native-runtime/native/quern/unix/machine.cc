#include "quern/machine.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "quern/cgroup.h"
#include "quern/cores.h"
#include "quern/system-machine.h"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#include <sys/sysctl.h>
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

int usable_cores() {
#if defined(__linux__)
  const auto cpus = allowed_cpus();
  if (!cpus.empty()) return performance_cores(cpus, "/sys");
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

double cpu_quota() { return cgroup_cpus(); }

#if defined(__APPLE__)

uint64_t written_bytes() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  const auto result = task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count);
  return result == KERN_SUCCESS ? info.phys_footprint : std::numeric_limits<uint64_t>::max();
}

// Free pages, and those that the system takes back without writing them.
static uint64_t available_bytes(uint64_t otherwise) {
  vm_statistics64_data_t pages{};
  mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
  if (host_statistics64(mach_host_self(), HOST_VM_INFO64, reinterpret_cast<host_info64_t>(&pages), &count) != KERN_SUCCESS)
    return otherwise;
  return (uint64_t(pages.free_count) + pages.inactive_count + pages.purgeable_count) * vm_kernel_page_size;
}

MemoryState system_memory() {
  uint64_t total = 0;
  size_t size = sizeof total;
  if (sysctlbyname("hw.memsize", &total, &size, nullptr, 0) != 0) total = std::numeric_limits<uint64_t>::max();
  return {total, available_bytes(total)};
}

#else

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

#endif

} // namespace quern
