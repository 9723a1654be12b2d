// Copies between the GPU and memory of the host that it does not see: through buffers that it sees.
#pragma once
#include <stdint.h>

#include <vector>

#include "metal/buffers.h"

namespace quern::metal {

class Staged {
 public:
  explicit Staged(Buffers& buffers) : buffers_(buffers) {}
  ~Staged();
  Staged(const Staged&) = delete;

  // Bytes that the GPU sees until `settle`. Throws OUT_OF_MEMORY.
  uint8_t* take(uint64_t bytes);
  // At `settle`, bytes at `from`, taken, go to `to`.
  void deliver(void* to, const uint8_t* from, uint64_t bytes) { deliveries_.push_back({to, from, bytes}); }
  // The queue is empty. whole: its work has succeeded.
  void settle(bool whole);

 private:
  static constexpr uint64_t chunk_bytes = 1 << 20;
  struct Chunk {
    uint8_t* data;
    uint64_t bytes;
  };
  struct Delivery {
    void* to;
    const uint8_t* from;
    uint64_t bytes;
  };

  Buffers& buffers_;
  std::vector<Chunk> chunks_; // the last one is in use; one stays
  uint64_t used_ = 0;
  std::vector<Delivery> deliveries_;
};

}  // namespace quern::metal
