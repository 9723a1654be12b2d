// Memory of a device.
#pragma once
#include <stdint.h>

#include "quern/pages.h"

namespace quern {

// A device derives from Buffer if its memory needs more than an address.
class Buffer {
 public:
  Buffer(uint8_t* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;

  // Address for code of the device. Host code may use the address only if memory is unified (Device).
  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_;
  uint64_t bytes_;
};

// Memory of the host.
class PagesBuffer : public Buffer {
 public:
  // Zeroed. Throws OUT_OF_MEMORY.
  explicit PagesBuffer(uint64_t bytes, Filled filled = Filled::at_once) : PagesBuffer(Pages(bytes, filled)) {}

 private:
  explicit PagesBuffer(Pages pages) : Buffer(pages.data(), pages.bytes()), pages_(std::move(pages)) {}
  Pages pages_;
};

} // namespace quern
