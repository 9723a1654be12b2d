// Measured speed of a GPU.
#pragma once
#include <memory>

#include "gpu/gpu.h"

namespace quern::gpu {

struct Rates {
  double bandwidth;  // bytes per second: two arrays read, one written
  double flops;      // operations per second of a product of floats
};

Rates measure_rates(const std::shared_ptr<Gpu>& gpu);

}  // namespace quern::gpu
