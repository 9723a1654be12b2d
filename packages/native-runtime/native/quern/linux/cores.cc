#include "quern/linux/cores.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

namespace quern {

std::vector<int> parse_cpu_list(const std::string& list) {
  constexpr int most = 1 << 16; // more than any kernel supports
  std::vector<int> cpus;
  std::istringstream in(list);
  for (int first; in >> first && first >= 0 && first < most;) {
    int last = first;
    if (in.peek() == '-' && !(in.ignore() >> last && last >= first && last < most)) break;
    for (int cpu = first; cpu <= last; cpu++) cpus.push_back(cpu);
    if (in.peek() == ',') in.ignore();
  }
  return cpus;
}

// The first line of a file; empty if there is no file.
static std::string read_line(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

static std::string folder_of(int cpu, const std::string& sysfs) {
  return sysfs + "/devices/system/cpu/cpu" + std::to_string(cpu);
}

// Number of a core: its first processor.
static int core_of(int cpu, const std::string& sysfs) {
  const std::string topology = folder_of(cpu, sysfs) + "/topology/";
  auto siblings = parse_cpu_list(read_line(topology + "core_cpus_list"));
  if (siblings.empty()) siblings = parse_cpu_list(read_line(topology + "thread_siblings_list")); // before Linux 5.3
  return siblings.empty() ? cpu : *std::min_element(siblings.begin(), siblings.end());
}

// Relative speed of a processor (Arm, RISC-V); equal for all if the system does not say.
static int capacity_of(int cpu, const std::string& sysfs) {
  std::ifstream in(folder_of(cpu, sysfs) + "/cpu_capacity");
  int capacity;
  return in >> capacity ? capacity : 0;
}

// Removes slow cores on a machine with fast and slow cores.
static void keep_fast(std::vector<int>& cpus, const std::string& sysfs) {
  const auto efficient = parse_cpu_list(read_line(sysfs + "/devices/cpu_atom/cpus")); // Intel
  int fastest = 0;
  for (const int cpu : cpus) fastest = std::max(fastest, capacity_of(cpu, sysfs));
  const auto slow = [&](int cpu) {
    return std::find(efficient.begin(), efficient.end(), cpu) != efficient.end() ||
           2 * capacity_of(cpu, sysfs) < fastest;
  };
  if (!std::all_of(cpus.begin(), cpus.end(), slow)) std::erase_if(cpus, slow);
}

int performance_cores(std::vector<int> allowed, const std::string& sysfs) {
  keep_fast(allowed, sysfs);
  std::set<int> cores;
  for (const int cpu : allowed) cores.insert(core_of(cpu, sysfs));
  return std::max(1, static_cast<int>(cores.size()));
}

} // namespace quern
