// Never run: compiled against Apple's headers alone.
#include "quern/machine.h"

#include <mach/mach.h>

#include <limits>
#include <thread>

#include "quern/darwin/system-values.h"
#include "quern/system-machine.h"

namespace quern {

// Level 0 is the fastest: the performance cores of Apple silicon. Intel's machines have one kind of core.
int usable_cores() {
  const uint64_t all = system_number("hw.physicalcpu", std::thread::hardware_concurrency());
  return static_cast<int>(system_number("hw.perflevel0.physicalcpu", all));
}

double cpu_quota() { return 0; } // no such limit

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
  const uint64_t total = system_number("hw.memsize", std::numeric_limits<uint64_t>::max());
  return {total, available_bytes(total)};
}

} // namespace quern
