// Memory of the emulated device: one range of addresses, a state per word. Allocations have guard zones between them; an
// address is never used again while its zone may still be read. New memory is poison until it is written.
#pragma once
#include <stdint.h>

#include <map>
#include <mutex>

namespace quern::gpu {

class Memory {
 public:
  // Size: as much as may be allocated. Pages are taken from the system when they are used.
  explicit Memory(uint64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;

  // Null if there is no room. Not zeroed.
  uint8_t* allocate(uint64_t bytes);
  // False if `data` is not an allocation.
  bool free(uint8_t* data);
  uint64_t free_bytes() const;
  uint64_t bytes() const { return bytes_; }

  // Copies of the host and fills: what is written becomes known. Outside of one allocation: Fault.
  void write(uint8_t* to, const void* from, uint64_t bytes);
  void read(void* to, const uint8_t* from, uint64_t bytes) const;
  void fill(uint8_t* to, uint8_t value, uint64_t bytes);

  // After a kernel's flag: what follows in the step may read what the op did not write, because nobody reads the results. Ends
  // with the next fill, which clears the flag.
  void allow_unwritten() { unwritten_allowed_ = true; }

  // Called for each access of a kernel. Faults name the allocation nearby.
  void check_read(const void* address, uint64_t bytes) const;
  void check_write(void* address, uint64_t bytes);

 private:
  enum State : uint8_t { unallocated, unwritten, written }; // of 4 bytes
  static constexpr uint64_t word = 4, zone = 4096;

  struct Block {
    uint64_t bytes, taken; // asked for; with the zone behind it
  };
  bool holds(const void* address, uint64_t bytes) const;
  uint64_t end_of_block(uint64_t offset) const;
  void need_allocated(const void* address, uint64_t bytes, const char* act) const;
  [[noreturn]] void outside(const void* address, uint64_t bytes, const char* act) const;
  uint8_t& state(uint64_t offset) const { return states_[offset / word]; }
  uint64_t offset_of(const void* address) const { return uint64_t(static_cast<const uint8_t*>(address) - base_); }

  mutable std::mutex mutex_;
  const uint64_t bytes_;
  uint8_t *base_, *states_;
  uint64_t used_ = 0;
  bool unwritten_allowed_ = false;
  std::map<uint64_t, Block> blocks_; // by offset
};

// The memory that kernels of this process see.
Memory*& device_memory();

} // namespace quern::gpu
