#include "gpu/staging.h"

#include <algorithm>

namespace quern::gpu {

Staging::Staging(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)), host_(gpu_, slots * slot_bytes), blocks_(gpu_, device_bytes) {}

void Staging::begin() {
  gpu_->forget_marks();
  std::ranges::fill(marks_, -1);
}

uint8_t* Staging::take() {
  if (marks_[next_] >= 0) gpu_->wait(marks_[next_]);
  return host_.data() + uint64_t(next_) * slot_bytes;
}

void Staging::sent() {
  marks_[next_] = gpu_->mark();
  next_ = (next_ + 1) % slots;
}

}  // namespace quern::gpu
