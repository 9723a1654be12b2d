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

// Bytes per second of copies between the host's memory, pageable as that of plans is, and the GPU's.
struct Links {
  double to_device, from_device;
};

Links measure_links(const std::shared_ptr<Gpu>& gpu);

}  // namespace quern::gpu
