// Measured speed of a GPU.
#pragma once
#include <memory>

#include "gpu/gpu.h"
#include "quern/precision.h"

namespace quern::gpu {

struct Rates {
  double bandwidth;  // bytes per second: two arrays read, one written
  // Operations per second of products: of floats; of weights in 4-bit blocks with one row, and with 64.
  double flops, row_flops, prompt_flops;
};

Rates measure_rates(const std::shared_ptr<Gpu>& gpu, Precision precision);

// Bytes per second of copies between the host's memory, pageable as that of plans is, and the GPU's.
struct Links {
  double to_device, from_device;
};

Links measure_links(const std::shared_ptr<Gpu>& gpu);

}  // namespace quern::gpu
