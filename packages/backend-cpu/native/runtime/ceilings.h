// What the machine delivers at most: what kernels are held against.
#pragma once
#include <map>
#include <string>

#include "kernels/kernels.h"
#include "runtime/thread-pool.h"

namespace quern {

struct Ceilings {
  double read_bandwidth;            // bytes per second of sequential reads, all threads together
  double read_bandwidth_one_thread; // and of one thread alone
  std::map<std::string, double> rates; // operations per second by element type, all threads together; "f32" is always there
};

// Measured anew at each call, in about a second: the best of several passes over memory and registers. Rates are those of
// the instructions that `kernels` may use.
Ceilings measure_ceilings(const Kernels& kernels, ThreadPool& pool);

} // namespace quern
