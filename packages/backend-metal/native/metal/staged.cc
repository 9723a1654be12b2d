#include "metal/staged.h"

#include <string.h>

#include <algorithm>

#include "quern/failure.h"

namespace quern::metal {

Staged::~Staged() {
  for (const Chunk& chunk : chunks_) buffers_.free_host(chunk.data);
}

uint8_t* Staged::take(uint64_t bytes) {
  const uint64_t rounded = (bytes + 15) / 16 * 16;
  if (chunks_.empty() || used_ + rounded > chunks_.back().bytes) {
    const uint64_t size = std::max(rounded, chunk_bytes);
    uint8_t* const data = buffers_.allocate_host(size);
    if (!data) fail(Code::out_of_memory, "%s for a copy between host and GPU were refused", show_bytes(size).c_str());
    chunks_.push_back({data, size});
    used_ = 0;
  }
  uint8_t* const at = chunks_.back().data + used_;
  used_ += rounded;
  return at;
}

void Staged::settle(bool whole) {
  if (whole)
    for (const auto& [to, from, bytes] : deliveries_) memcpy(to, from, bytes);
  deliveries_.clear();
  for (; chunks_.size() > 1; chunks_.erase(chunks_.begin())) buffers_.free_host(chunks_.front().data);
  used_ = 0;
}

}  // namespace quern::metal
