// The cores of a machine, as Linux describes them under /sys.
#pragma once
#include <string>
#include <vector>

namespace quern {

// Processor numbers of a kernel list such as "0-3,8". Stops at the first unreadable number.
std::vector<int> parse_cpu_list(const std::string& list);

// Number of physical cores for a thread team, among the processors `allowed` (not empty). Hyperthreads of one core count
// once. Slow cores (capacity below half of the fastest) do not count, unless all allowed cores are slow. Where `sysfs`
// ("/sys") has no data: each processor is a core, all equally fast. Result ≥ 1.
int performance_cores(std::vector<int> allowed, const std::string& sysfs);

} // namespace quern
