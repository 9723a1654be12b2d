#include "cuda/estimated-rates.h"

#include <algorithm>

namespace quern::cuda {

namespace {

// Of what the theory gives. Copies of an H100 reach 3.0 of 3.35 TB/s, of an H200 4.3 of 4.8; cuBLAS reaches 798 of 1070 TFLOP/s at
// the clock that the driver names for an H100.
constexpr double bandwidth_share = 0.9, bf16_share = 0.6;
// Products of floats are six of bf16 with bf16; 64 rows of 4-bit weights take about half of the instructions for decoding.
constexpr double float_share = 0.3 / 6, prompt_share = 0.3;
// One row of 4-bit weights: about 6 instructions a weight (docs/cuda.md), 128 lanes in a clock, two operations a weight; 0.7 of that.
constexpr double row_operations = 0.7 * 128 / 6 * 2;
// A processor reads at most these bytes in a clock: half of its path to the second cache. A slice of a GPU (MIG) may have the memory
// clock and width of the whole.
constexpr double max_read = 32;

// Operations of bf16 by the tensor cores of one processor in a clock, dense, with sums in floats, from NVIDIA's data sheets: TFLOP/s /
// processors / GHz. Products of other units than mma.sync and wgmma are not counted.
double bf16_operations(int compute) {
  switch (compute) {
    case 80: return 2048;            // A100: 312 / 108 / 1.41
    case 87: return 1024;            // Jetson Orin, half of what its sheet says
    case 90: return 4096;            // H100 SXM: 989 / 132 / 1.83
    case 100: case 103: return 2048; // B200: 8192 by units that no kernel here uses
    default: return 512;             // RTX 3090: 71 / 82 / 1.695; RTX 4090: 165 / 128 / 2.52; RTX 5090: 209 / 170 / 2.41
  }
}

// PCIe 5 × 16 gives about 55 GB/s; in other machines the link may be PCIe 4 × 8 or 3 × 16.
double link_rate(int major) { return major == 9 || major == 10 ? 40e9 : 12e9; }

}  // namespace

gpu::Rates estimated_rates(const GpuFacts& facts, Precision precision) {
  const double clocks = double(facts.processors) * facts.clock;
  const double bf16 = clocks * bf16_operations(10 * facts.major + facts.minor);
  gpu::Rates rates{};
  rates.bandwidth = std::min(bandwidth_share * facts.memory_bandwidth, max_read * clocks);
  rates.flops = float_share * bf16;
  rates.bf16_flops = bf16_share * bf16;
  rates.row_flops = row_operations * clocks;
  rates.prompt_flops = precision == Precision::exact ? rates.flops : prompt_share * bf16;
  rates.to_device = rates.from_device = link_rate(facts.major);
  return rates;
}

}  // namespace quern::cuda
