#include "gpu/read-back.h"

#include <string.h>

namespace quern::gpu {

void ReadBack::add(void* to, const uint8_t* from, uint64_t bytes) {
  if (bytes > room - used_) return gpu_->copy_out(to, from, bytes);
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
