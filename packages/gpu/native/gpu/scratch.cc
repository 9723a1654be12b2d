#include "gpu/scratch.h"

#include <algorithm>

namespace quern::gpu {

uint8_t* Scratch::take_bytes(uint64_t bytes) {
  bytes = (bytes + 255) / 256 * 256;
  const uint64_t size = buffers_.empty() ? 0 : buffers_.back()->bytes();
  if (used_ + bytes > size) {
    buffers_.push_back(std::make_shared<const GpuBuffer>(gpu_, std::max(bytes, 2 * size)));
    used_ = 0;
  }
  uint8_t* const at = buffers_.back()->data() + used_;
  used_ += bytes;
  return at;
}

void Scratch::settle() {
  if (buffers_.size() > 1) buffers_.erase(buffers_.begin(), buffers_.end() - 1);
}

}  // namespace quern::gpu
