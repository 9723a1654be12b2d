// Memory taken from the system in whole pages: zeroed, page-aligned, given back when freed.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <utility>

namespace quern {

class Pages {
 public:
  Pages() = default;
  // Throws OUT_OF_MEMORY with the bytes asked for and free, where the machine does not have them.
  explicit Pages(uint64_t bytes);
  ~Pages();
  Pages(Pages&& other) noexcept : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
};

} // namespace quern
