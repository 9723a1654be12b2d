// Copies from the device to the host. Small ones land in pinned memory: the host waits once for all.
#pragma once
#include <vector>

#include "gpu/gpu-buffer.h"

namespace quern::gpu {

class ReadBack {
 public:
  explicit ReadBack(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)), landing_(gpu_, room) {}

  // In the queue. `to` has the bytes after `finish`.
  void add(void* to, const uint8_t* from, uint64_t bytes);
  // Waits for the queue. Throws DEVICE_FAILED.
  void finish();
  // Forgets copies whose run has failed; the queue is empty.
  void forget() { copies_.clear(), used_ = 0; }

 private:
  static constexpr uint64_t room = 4 << 20;
  struct Copy {
    void* to;
    uint64_t at, bytes;
  };
  const std::shared_ptr<Gpu> gpu_;
  const HostBuffer landing_;
  uint64_t used_ = 0;
  std::vector<Copy> copies_;
};

}  // namespace quern::gpu
