// The way of weights to the device: while one slot of host memory is copied there, the next one is filled.
#pragma once
#include "gpu/gpu-buffer.h"

namespace quern::gpu {

class Staging {
 public:
  static constexpr uint64_t slot_bytes = 4 << 20;
  static constexpr uint64_t device_bytes = slot_bytes;  // while weights are loaded

  // Throws OUT_OF_MEMORY.
  explicit Staging(std::shared_ptr<Gpu> gpu);

  // The queue is empty.
  void begin();
  // The next slot; waits until the copies from it are done.
  uint8_t* take();
  // What reads the slot is in the queue.
  void sent();
  // slot_bytes of the device, for blocks in file layout. The queue's order keeps those of one slot apart from those of the next.
  uint8_t* blocks() const { return blocks_.data(); }

 private:
  static constexpr int slots = 2;

  const std::shared_ptr<Gpu> gpu_;
  const HostBuffer host_;
  const GpuBuffer blocks_;
  int next_ = 0;
  int marks_[slots] = {-1, -1};  // behind the last copy from each slot
};

}  // namespace quern::gpu
