#include "gpu/upload.h"

#include <string.h>

#include <algorithm>

#include "gpu/weight-planes.h"
#include "kernels/unpack-blocks.h"

namespace quern::gpu {

Upload::Upload(Gpu& gpu, Staging& staging, const WeightFormat& format, uint64_t values, uint8_t* to)
    : gpu_(gpu),
      staging_(staging),
      format_(format),
      values_(values),
      capacity_(Staging::slot_bytes / uint64_t(format.block_bytes) * uint64_t(format.block_bytes)),
      to_(to) {
  staging_.begin();
}

void Upload::add(const uint8_t* blocks, uint64_t bytes) {
  while (bytes > 0) {
    if (!slot_) slot_ = staging_.take();
    const uint64_t part = std::min(bytes, capacity_ - filled_);
    memcpy(slot_ + filled_, blocks, part);
    blocks += part, bytes -= part, filled_ += part;
    if (filled_ == capacity_) send();
  }
}

void Upload::end() {
  if (filled_ > 0) send();
  gpu_.finish();
}

void Upload::send() {
  const auto groups_of = [&](uint64_t bytes) {
    return bytes / uint64_t(format_.block_bytes) * uint64_t(format_.block_values) / GROUP;
  };
  gpu_.copy_in(format_.dense ? to_ + sent_ : staging_.blocks(), slot_, filled_);
  if (!format_.dense) unpack(groups_of(sent_), groups_of(filled_));
  staging_.sent();
  sent_ += filled_;
  filled_ = 0;
  slot_ = nullptr;
}

// The groups [first, first + count) of the weight.
void Upload::unpack(uint64_t first, uint64_t count) {
  constexpr uint64_t threads = 128, most_blocks = 4096;
  const PlaneOffsets at = plane_offsets(format_, values_ / GROUP);
  const UnpackBlocks args{staging_.blocks(),
                          reinterpret_cast<unsigned*>(to_ + at.low) + first * uint64_t(format_.low),
                          reinterpret_cast<unsigned*>(to_ + at.high) + first * uint64_t(format_.high),
                          to_ + at.subscales + first * uint64_t(format_.subscales),
                          reinterpret_cast<unsigned short*>(to_ + at.factors) + first / uint64_t(format_.span) * uint64_t(format_.factors),
                          int64_t(count)};
  gpu_.launch((std::string("unpack_") + format_.name).c_str(), int64_t(std::min(most_blocks, (count + threads - 1) / threads)),
              threads, &args);
}

}  // namespace quern::gpu
