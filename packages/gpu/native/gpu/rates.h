// Speed of a GPU.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "quern/precision.h"

namespace quern::gpu {

class Gpu;

struct Rates {
  double bandwidth;  // bytes per second: two arrays read, one written
  // Operations per second of products: of floats; of bf16 with bf16, by tensor cores; of weights in 4-bit blocks with one row, and
  // with 64.
  double flops, bf16_flops, row_flops, prompt_flops;
  double to_device, from_device;  // bytes per second of copies between pinned memory of the host and the GPU's
};

inline constexpr std::pair<const char*, double Rates::*> rate_names[] = {
    {"bandwidth", &Rates::bandwidth},        {"flops", &Rates::flops},         {"bf16Flops", &Rates::bf16_flops},
    {"rowFlops", &Rates::row_flops},         {"promptFlops", &Rates::prompt_flops},
    {"hostToDevice", &Rates::to_device},     {"deviceToHost", &Rates::from_device}};

// Where a device takes its rates from. `kept`: those that were measured before, else estimates, else a measurement. `table`: estimates.
// `measurement`: one per process, which is kept. A GPU without estimates is measured in place of them.
enum class RatesFrom { kept, table, measurement };
// Of "kept", "table" or "measure"; throws BAD_ARGUMENT.
RatesFrom rates_from_named(const std::string& name);

struct FoundRates {
  Rates rates;
  bool measured;
};

Rates measure_rates(const std::shared_ptr<Gpu>& gpu, Precision precision);

// Whether there is memory enough for rates as of a device without other work.
bool measures_well(const Gpu& gpu);

// Whether there is memory for another process that measures beside the work of this one: its context and its arrays.
bool measures_beside(const Gpu& gpu);

}  // namespace quern::gpu
