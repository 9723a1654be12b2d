#include "gpu/gpu-buffer.h"

namespace quern::gpu {

GpuBuffer::GpuBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes)
    : Buffer(bytes > 0 ? gpu->allocate(bytes) : nullptr, bytes), gpu_(std::move(gpu)) {}

GpuBuffer::~GpuBuffer() {
  if (data()) gpu_->free(data());
}

LentBytes::LentBytes(std::shared_ptr<Gpu> gpu, const HeldBytes& held, uint64_t bytes)
    : gpu_(std::move(gpu)), file_(held.file), data_(held.file ? gpu_->lend(held.data, bytes, held.file) : nullptr) {}

LentBytes::~LentBytes() {
  if (data_) gpu_->take_back(data_);
}

HostBuffer::HostBuffer(std::shared_ptr<Gpu> gpu, uint64_t bytes)
    : gpu_(std::move(gpu)), pinned_(gpu_->allocate_host(bytes)), pageable_(pinned_ ? Pages() : Pages(bytes)) {}

HostBuffer::~HostBuffer() {
  if (pinned_) gpu_->free_host(pinned_);
}

}  // namespace quern::gpu
