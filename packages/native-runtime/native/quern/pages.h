// Memory from the system in whole pages: zeroed, page-aligned, returned to the system when freed.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <utility>

namespace quern {

// How memory fills up. `at_once`: huge pages where the system has them. `from_the_start`: small pages first, because the
// first write to a huge page zeroes all of it: 2 MiB, and up to the next huge page. Each buffer has another offset from a
// huge page: the layers of a cache fill up together, and would all start their next huge page in the same step.
enum class Filled { at_once, from_the_start };

// Throws OUT_OF_MEMORY if the machine lacks `bytes`; the message has the bytes asked for and the bytes free.
void need_available(uint64_t bytes);
[[noreturn]] void fail_refused(uint64_t bytes); // the system refused the mapping

// Bytes that this process holds, written or not: the system counts only written pages as used.
uint64_t reserved_bytes();

// Counts bytes as reserved as long as it lives.
class Reserved {
 public:
  Reserved() = default;
  explicit Reserved(uint64_t bytes);
  ~Reserved();
  Reserved(Reserved&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}
  Reserved& operator=(Reserved&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    return *this;
  }

 private:
  uint64_t bytes_ = 0;
};

class Pages {
 public:
  Pages() = default;
  // Throws OUT_OF_MEMORY.
  explicit Pages(uint64_t bytes, Filled filled = Filled::at_once);
  ~Pages();
  Pages(Pages&& other) noexcept { *this = std::move(other); }
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(reserved_, other.reserved_);
    return *this;
  }

  uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  uint8_t* data_ = nullptr;
  uint64_t bytes_ = 0;
  Reserved reserved_;
};

} // namespace quern
