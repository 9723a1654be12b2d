#include "gpu/gpu-device.h"
#include "metal/metal-facts.h"
#include "metal/metal-gpu.h"

namespace quern::metal {

namespace {

// Opens Metal, or the library in its place.
void open(const Options& options) { Runtime::open(options.text("library", "metal")); }

Properties describe(const MetalFacts& facts) {
  Properties properties = {{"index", double(facts.index)},
                           {"name", facts.name},
                           {"totalMemory", double(facts.memory)},
                           {"isa", facts.isa()},
                           {"driver", facts.system}};
  if (!facts.unusable.empty()) properties.push_back({"unusable", facts.unusable});
  return properties;
}

}  // namespace

}  // namespace quern::metal

std::unique_ptr<quern::Device> quern::make_device(const Options& options) {
  metal::open(options);
  const auto index = int(options.integer("device", 0, 1023, 0));
  const Precision precision = precision_named(options.text("precision", "standard"));
  const gpu::RatesFrom rates_from = gpu::rates_from_named(options.text("rates", "kept"));
  return std::make_unique<gpu::GpuDevice>(std::make_shared<metal::MetalGpu>(index, options.text("cache", "")), precision, rates_from);
}

std::vector<quern::Properties> quern::list_devices(const Options& options) try {
  metal::open(options);
  std::vector<Properties> devices;
  for (const metal::MetalFacts& facts : metal::all_facts()) devices.push_back(metal::describe(facts));
  return devices;
} catch (const metal::NoMetal&) { return {}; }
