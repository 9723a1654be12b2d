#include "gpu/read-back.h"

#include <string.h>

namespace quern::gpu {

// A copy into pageable memory waits for the queue by itself, without end: `finish` has one.
void ReadBack::add(void* to, const uint8_t* from, uint64_t bytes) {
  if (bytes > room - used_) {
    gpu_->finish();
    return gpu_->copy_out(to, from, bytes);
  }
  gpu_->copy_out(landing_.data() + used_, from, bytes);
  copies_.push_back({to, used_, bytes});
  used_ += bytes;
}

void ReadBack::finish() {
  gpu_->finish();
  for (const auto& [to, at, bytes] : copies_) memcpy(to, landing_.data() + at, bytes);
  forget();
}

}  // namespace quern::gpu
