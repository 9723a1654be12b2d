// One weight's bytes, from memory of the host to its place on the device.
#pragma once
#include "gpu/staging.h"
#include "gpu/weight-format.h"

namespace quern::gpu {

class Upload {
 public:
  // `values` of `format`, at `to`: as in files if the format is dense, otherwise in planes.
  Upload(Gpu& gpu, Staging& staging, const WeightFormat& format, uint64_t values, uint8_t* to);

  // The next blocks in file layout, whole ones. The bytes may go afterwards.
  void add(const uint8_t* blocks, uint64_t bytes);
  // Sends the rest, and waits until the weight is on the device. Throws DEVICE_FAILED.
  void end();

 private:
  void send();
  void unpack(uint64_t first, uint64_t count);

  Gpu& gpu_;
  Staging& staging_;
  const WeightFormat& format_;
  const uint64_t values_, capacity_;  // capacity: bytes of whole blocks in a slot
  uint8_t* const to_;
  uint8_t* slot_ = nullptr;
  uint64_t filled_ = 0, sent_ = 0;  // bytes in the slot; bytes before it
};

}  // namespace quern::gpu
