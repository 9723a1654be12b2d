// Upper limits of the machine, to compare kernels with.
#pragma once
#include <map>
#include <string>

#include "kernels/kernels.h"
#include "runtime/thread-pool.h"

namespace quern {

struct Ceilings {
  double read_bandwidth;            // bytes per second of the fastest read loop, all threads together
  double read_bandwidth_one_thread; // bytes per second, one thread
  std::map<std::string, double> rates; // operations per second by element type, all threads together; has at least "f32"
};

// Measured anew in each call, about 1 s: the best of several passes over memory and registers. Rates of the instructions
// that `kernels` may use.
Ceilings measure_ceilings(const Kernels& kernels, ThreadPool& pool);

} // namespace quern
