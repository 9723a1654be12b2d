#include "cuda/cuda-gpu.h"
#include "cuda/gpu-facts.h"
#include "cuda/library.h"
#include "gpu/gpu-device.h"

namespace quern::cuda {

namespace {

const Driver& driver_of(const Options& options) { return Driver::get(options.text("library", usual_library)); }

Properties describe(const Driver& driver, int index) {
  const GpuFacts facts = facts_of(driver, index);
  Properties properties = {{"index", double(index)},
                           {"name", facts.name},
                           {"totalMemory", double(facts.memory)},
                           {"isa", facts.isa()},
                           {"driver", driver.shown_version()}};
  if (!facts.unusable.empty()) properties.push_back({"unusable", facts.unusable});
  return properties;
}

} // namespace

} // namespace quern::cuda

std::unique_ptr<quern::Device> quern::make_device(const Options& options) {
  const cuda::Driver& driver = cuda::driver_of(options);
  const auto index = int(options.integer("device", 0, 1023, 0));
  const Precision precision = precision_named(options.text("precision", "standard"));
  const gpu::RatesFrom rates_from = gpu::rates_from_named(options.text("rates", "kept"));
  return std::make_unique<gpu::GpuDevice>(std::make_shared<cuda::CudaGpu>(driver, index), precision, rates_from);
}

std::vector<quern::Properties> quern::list_devices(const Options& options) try {
  const cuda::Driver& driver = cuda::driver_of(options);
  std::vector<Properties> devices;
  for (int index = 0; index < driver.devices(); index++) devices.push_back(cuda::describe(driver, index));
  return devices;
} catch (const cuda::NoDevice&) { return {}; }
