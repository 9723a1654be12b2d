#include "cuda/cuda-gpu.h"
#include "gpu/gpu-device.h"

std::unique_ptr<quern::Device> quern::make_device(const Options& options) {
  const auto device = int(options.integer("device", 0, 1023, 0));
  const Precision precision = precision_named(options.text("precision", "standard"));
  return std::make_unique<gpu::GpuDevice>(std::make_shared<cuda::CudaGpu>(options.text("library", "libcuda.so.1"), device), precision);
}
