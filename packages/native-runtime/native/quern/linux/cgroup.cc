#include "quern/linux/cgroup.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace quern {

// Folders of this process's group for a v1 controller (empty name: v2), from the process's group up to the root. In a
// container the path may be the host's, with only the root visible: a missing folder reads as no limit.
template <class Visit>
static void each_group(const std::string& system, const std::string& controller, const Visit& visit) {
  std::ifstream groups(system + "/proc/self/cgroup");
  std::string root = system + "/sys/fs/cgroup";
  if (!controller.empty()) root += "/" + controller;
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string names = ",";
    names.append(line, first + 1, second - first - 1).append(",");
    if (controller.empty() ? names != ",," : names.find("," + controller + ",") == std::string::npos) continue;
    std::string path = line.substr(second + 1);
    for (; path.size() > 1; path.erase(path.rfind('/'))) visit(root + path);
    visit(root);
    return;
  }
}

// The first number of a file; `otherwise` if the file is absent or says "max".
static double read_number(const std::string& file, double otherwise) {
  std::ifstream in(file);
  double value;
  return in >> value ? value : otherwise;
}

double cgroup_cpus(const std::string& system) {
  double cpus = 0;
  const auto limit = [&](double quota, double period) {
    if (quota > 0 && period > 0) cpus = cpus > 0 ? std::min(cpus, quota / period) : quota / period;
  };
  each_group(system, "", [&](const std::string& group) {
    std::ifstream in(group + "/cpu.max");
    double quota, period;
    if (in >> quota >> period) limit(quota, period);
  });
  each_group(system, "cpu", [&](const std::string& group) {
    limit(read_number(group + "/cpu.cfs_quota_us", 0), read_number(group + "/cpu.cfs_period_us", 0));
  });
  return cpus;
}

// The value of `key` in memory.stat, 0 where absent.
static double read_stat(const std::string& group, const std::string& key) {
  std::ifstream in(group + "/memory.stat");
  std::string name;
  for (double value; in >> name >> value;)
    if (name == key) return value;
  return 0;
}

static void tighten(MemoryLimit& limit, double allowed, double used) {
  // v1 writes "no limit" as a number near 2^63.
  if (!(allowed >= 0) || allowed >= 0x1p60) return;
  limit.total = std::min(limit.total, static_cast<uint64_t>(allowed));
  limit.available = std::min(limit.available, static_cast<uint64_t>(std::max(0.0, allowed - std::max(0.0, used))));
}

MemoryLimit cgroup_memory(const std::string& system) {
  MemoryLimit limit{UINT64_MAX, UINT64_MAX};
  each_group(system, "", [&](const std::string& group) {
    const double used = read_number(group + "/memory.current", 0) - read_stat(group, "inactive_file");
    tighten(limit, read_number(group + "/memory.max", -1), used);
    tighten(limit, read_number(group + "/memory.high", -1), used); // above memory.high the kernel slows the group down
  });
  each_group(system, "memory", [&](const std::string& group) {
    const double used =
        read_number(group + "/memory.usage_in_bytes", 0) - read_stat(group, "total_inactive_file");
    tighten(limit, read_number(group + "/memory.limit_in_bytes", -1), used);
  });
  return limit;
}

} // namespace quern
