// What the driver reports of a GPU before it has a context.
#pragma once
#include <string>

#include "cuda/driver.h"
#include "cuda/kernels-image.h"

namespace quern::cuda {

struct GpuFacts {
  DeviceIndex device;
  std::string name;
  std::string uuid;     // as hexadecimal digits; empty: the driver has none
  int major, minor;    // compute capability
  int processors;      // multiprocessors
  int shared_memory;   // bytes that a block may have
  int cache_memory;    // bytes of the second cache
  size_t memory;       // bytes
  double clock;        // of the processors, in Hz
  double memory_bandwidth;  // bytes per second, in theory
  std::string unusable; // why this backend cannot use the GPU; empty: it can

  // Kernels for sm_90a run on compute capability 9.0 alone.
  bool has_warpgroup_products() const { return has_kernels_of_sm_90a && major == 9 && minor == 0; }
  std::string isa() const { return "sm_" + std::to_string(10 * major + minor); }
};

// Throws UNSUPPORTED if there is no device `index`.
GpuFacts facts_of(const Driver& driver, int index);

} // namespace quern::cuda
