// Memory of copied weights: blocks of few large mappings, so that huge pages cover small matrices too.
#pragma once
#include <stdint.h>

#include <memory>
#include <mutex>

namespace quern {

// Any thread may take and drop blocks.
class PagePool {
 public:
  // A zeroed block at a multiple of a page. Its pages return to the system with its last owner; the pool may be gone by then.
  // Throws OUT_OF_MEMORY if the machine lacks `bytes`.
  std::shared_ptr<uint8_t> take(uint64_t bytes);

 private:
  class Slab;

  std::mutex mutex_;
  std::shared_ptr<Slab> slab_; // with room for more blocks, or null
};

} // namespace quern
