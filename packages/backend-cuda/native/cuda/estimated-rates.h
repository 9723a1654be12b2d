// Speed of a GPU from what the driver says of it: nothing runs on the device.
#pragma once
#include "cuda/gpu-facts.h"
#include "gpu/rates.h"

namespace quern::cuda {

// Shares of theoretical rates, chosen low.
gpu::Rates estimated_rates(const GpuFacts& facts, Precision precision);

}  // namespace quern::cuda
