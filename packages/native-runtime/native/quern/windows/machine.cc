#include "quern/machine.h"

#include <algorithm>
#include <limits>
#include <thread>
#include <vector>

#include "quern/system-machine.h"
#include "quern/windows/windows.h"

#include <psapi.h> // behind windows.h

namespace quern {

namespace {

using Core = SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX;

struct Cores {
  std::vector<char> bytes; // records of differing length
  template <class Visit>
  void each(const Visit& visit) const {
    for (size_t at = 0; at < bytes.size();) {
      const auto& core = reinterpret_cast<const Core&>(bytes[at]);
      visit(core);
      at += core.Size;
    }
  }
};

Cores all_cores() {
  DWORD bytes = 0;
  GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  Cores cores{std::vector<char>(bytes)};
  auto* const first = reinterpret_cast<Core*>(cores.bytes.data());
  if (!GetLogicalProcessorInformationEx(RelationProcessorCore, first, &bytes)) return {};
  cores.bytes.resize(bytes);
  return cores;
}

// Processors that this process may run on, of its group of 64. A mask of 0: those of several groups, all of them.
class Allowed {
 public:
  Allowed() {
    GROUP_AFFINITY own{};
    DWORD_PTR system;
    if (!GetThreadGroupAffinity(GetCurrentThread(), &own)) return;
    group_ = own.Group;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &mask_, &system)) mask_ = 0;
  }
  bool has(const PROCESSOR_RELATIONSHIP& core) const {
    return mask_ == 0 || (core.GroupMask[0].Group == group_ && (core.GroupMask[0].Mask & mask_) != 0);
  }

 private:
  WORD group_ = 0;
  DWORD_PTR mask_ = 0;
};

// Of the job that this process runs in; false: no job, or none with such a limit.
template <class Limit>
bool limit_of_job(JOBOBJECTINFOCLASS kind, Limit& limit) {
  return QueryInformationJobObject(nullptr, kind, &limit, sizeof limit, nullptr);
}

uint64_t committed_bytes() {
  PROCESS_MEMORY_COUNTERS_EX memory{};
  auto* const counters = reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory);
  return GetProcessMemoryInfo(GetCurrentProcess(), counters, sizeof memory) ? memory.PrivateUsage : 0;
}

// What the job allows. Memory of its other processes is not known.
MemoryState job_memory() {
  constexpr uint64_t none = std::numeric_limits<uint64_t>::max();
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION job{};
  if (!limit_of_job(JobObjectExtendedLimitInformation, job)) return {none, none};
  const DWORD flags = job.BasicLimitInformation.LimitFlags;
  uint64_t limit = none;
  if (flags & JOB_OBJECT_LIMIT_PROCESS_MEMORY) limit = std::min<uint64_t>(limit, job.ProcessMemoryLimit);
  if (flags & JOB_OBJECT_LIMIT_JOB_MEMORY) limit = std::min<uint64_t>(limit, job.JobMemoryLimit);
  return {limit, limit == none ? none : limit - std::min(limit, committed_bytes())};
}

} // namespace

// EfficiencyClass: the higher, the faster. The second byte, which headers of mingw-w64 10 do not name.
static int speed_of(const Core& core) { return reinterpret_cast<const BYTE*>(&core.Processor)[1]; }

int usable_cores() {
  const Cores cores = all_cores();
  const Allowed allowed;
  int count = 0, fastest = -1;
  cores.each([&](const Core& core) {
    const int speed = speed_of(core);
    if (!allowed.has(core.Processor) || speed < fastest) return;
    count = speed > fastest ? 1 : count + 1;
    fastest = speed;
  });
  return count > 0 ? count : static_cast<int>(std::thread::hardware_concurrency());
}

double cpu_quota() {
  constexpr DWORD capped = JOB_OBJECT_CPU_RATE_CONTROL_ENABLE | JOB_OBJECT_CPU_RATE_CONTROL_HARD_CAP;
  constexpr double whole = 10000; // CpuRate of all processors
  JOBOBJECT_CPU_RATE_CONTROL_INFORMATION job{};
  if (!limit_of_job(JobObjectCpuRateControlInformation, job) || (job.ControlFlags & capped) != capped) return 0;
  return job.CpuRate / whole * GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

// The private working set: Windows 10 22H2 and later give it, others 0.
uint64_t written_bytes() {
  struct {
    PROCESS_MEMORY_COUNTERS_EX known;
    SIZE_T private_working_set;
    ULONG64 shared_commit;
  } memory{};
  auto* const counters = reinterpret_cast<PROCESS_MEMORY_COUNTERS*>(&memory);
  const bool read = GetProcessMemoryInfo(GetCurrentProcess(), counters, sizeof memory);
  return read && memory.private_working_set > 0 ? memory.private_working_set : std::numeric_limits<uint64_t>::max();
}

MemoryState system_memory() {
  MEMORYSTATUSEX memory{};
  memory.dwLength = sizeof memory;
  const MemoryState job = job_memory();
  if (!GlobalMemoryStatusEx(&memory)) return job;
  return {std::min<uint64_t>(memory.ullTotalPhys, job.total), std::min<uint64_t>(memory.ullAvailPhys, job.available)};
}

} // namespace quern
