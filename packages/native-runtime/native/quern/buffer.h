// Memory of a device.
#pragma once
#include <stdint.h>

#include "quern/pages.h"

namespace quern {

// A device whose memory is more than an address derives from it.
class Buffer {
 public:
  Buffer(uint8_t* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  virtual ~Buffer() = default;
  Buffer(const Buffer&) = delete;

  // The address that code of the device reads and writes; the host's code only where memory is unified (Device).
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
  explicit PagesBuffer(uint64_t bytes) : PagesBuffer(Pages(bytes)) {}

 private:
  explicit PagesBuffer(Pages pages) : Buffer(pages.data(), pages.bytes()), pages_(std::move(pages)) {}
  Pages pages_;
};

} // namespace quern
