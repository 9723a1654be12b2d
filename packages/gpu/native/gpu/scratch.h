// Memory of the device for what one op keeps between its launches. The next op uses it again: launches are in one queue.
#pragma once
#include <memory>
#include <vector>

#include "gpu/gpu-buffer.h"

namespace quern::gpu {

class Scratch {
 public:
  explicit Scratch(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  void begin_op() { used_ = 0; }
  // [count], not initialised, until the next op. Throws OUT_OF_MEMORY.
  template <class T>
  T* take(int64_t count) {
    return reinterpret_cast<T*>(take_bytes(uint64_t(count) * sizeof(T)));
  }
  // The memory that launches since the last `settle` may use: what replays them keeps it.
  const std::vector<std::shared_ptr<const GpuBuffer>>& held() const { return buffers_; }
  // The queue is empty: only the largest buffer stays.
  void settle();

 private:
  uint8_t* take_bytes(uint64_t bytes);

  const std::shared_ptr<Gpu> gpu_;
  std::vector<std::shared_ptr<const GpuBuffer>> buffers_;  // the last one is in use
  uint64_t used_ = 0;
};

}  // namespace quern::gpu
