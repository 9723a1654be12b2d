// Measured speed of the machine.
#pragma once
#include "kernels/kernels.h"
#include "runtime/thread-pool.h"

namespace quern {

struct Profile {
  double read_bandwidth; // bytes per second of a matrix-vector product, from memory, all threads together
  double flops;          // f32 multiply-adds × 2 per second, all threads together
  double row_flops;      // the same of one row with weights in q4_k that lie in a cache
  double prompt_flops;   // the same of many rows (64)
};

// About 30 ms; once per process, instruction set, number of threads, and kernels of a precision.
Profile measure_profile(const Kernels& kernels, ThreadPool& pool);

} // namespace quern
