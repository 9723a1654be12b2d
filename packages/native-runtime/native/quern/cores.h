// The cores of a machine, as Linux describes them under /sys.
#pragma once
#include <string>
#include <vector>

namespace quern {

// The numbers in a list as the kernel writes it, "0-3,8"; those before the first that cannot be read.
std::vector<int> parse_cpu_list(const std::string& list);

// The physical cores that do best as a team, among the processors `allowed` (not empty): a core with several
// processors (hyperthreads) counts once, and of cores of several kinds only the fast ones count, those with at least
// half of the capacity of the fastest. Where all that is allowed are slow ones, they count. What `sysfs` ("/sys") does
// not say leaves every processor a core of its own, and all alike. At least 1.
int performance_cores(std::vector<int> allowed, const std::string& sysfs);

} // namespace quern
