// Memory of a GPU: buffers in shared storage, by the address that kernels use.
#pragma once
#include <stdint.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "metal/objc.h"

namespace quern::metal {

// A place within a buffer.
struct Place {
  Object buffer; // MTLBuffer
  uint64_t offset;
};

// Any thread.
class Buffers {
 public:
  // queue: MTLCommandQueue, whose work sees every buffer. Throws UNSUPPORTED.
  Buffers(Object device, Object queue);

  // Null: Metal refuses.
  uint8_t* allocate(uint64_t bytes);
  void free(uint8_t* data);
  // As the host sees it.
  uint8_t* contents_at(const uint8_t* data) const;
  // Of memory of the GPU, and of the host's memory from allocate_host. No buffer: it belongs to none.
  Place place_of(const uint8_t* data) const;
  Place place_on_host(const void* data) const;
  // As the host sees it; the GPU too.
  uint8_t* allocate_host(uint64_t bytes);
  void free_host(uint8_t* data);
  // Memory of the host that the GPU reads where it is. Null: Metal refuses. `owner` keeps it.
  const uint8_t* lend(const uint8_t* data, uint64_t bytes, std::shared_ptr<const void> owner);
  void take_back(const uint8_t* data);
  // Before work that uses buffers is committed.
  void make_resident();

 private:
  struct Block {
    Owned buffer;
    uint64_t bytes;
    std::shared_ptr<const void> owner = nullptr; // of lent memory
  };
  using Blocks = std::map<uint64_t, Block>; // by start
  Owned resident(Object buffer);
  void forget(Blocks& blocks, uint64_t start);
  static Place find(const Blocks& blocks, uint64_t address);

  const Object device_;
  mutable std::mutex mutex_;
  Owned residents_; // MTLResidencySet
  bool changed_ = false;
  Blocks of_gpu_, of_host_;
  std::multimap<uint64_t, Block> lent_; // by address: weights may share a page
};

}  // namespace quern::metal
