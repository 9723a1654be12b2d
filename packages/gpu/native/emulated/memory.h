// Memory of the emulated device: one range of addresses, a state per byte. Allocations have guard zones between them; an
// address is never used again while its zone may still be read. New memory is poison until it is written. Pages of the host are taken
// when they are first used: allocations may be larger than the host's memory.
#pragma once
#include <stdint.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "emulated/races.h"

namespace quern::gpu {

class Memory {
 public:
  // Size: as much as may be allocated.
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
  // The host may write an allocation from now on without a word: what was never written counts as written.
  void open_to_host(uint8_t* data);

  // Memory of the host that kernels may read where it is.
  void lend(const uint8_t* data, uint64_t bytes);
  void take_back(const uint8_t* data);

  // After a kernel's flag: what follows in the step may read what the op did not write, because nobody reads the results. Ends
  // with the next fill, which clears the flag.
  void allow_unwritten() { unwritten_allowed_ = true; }

  // Another for every allocation that ever was; 0: the address is in none.
  uint64_t allocation_of(const void* address) const;

  // Called for each access of a kernel. Faults name the allocation nearby.
  void check_read(const void* address, uint64_t bytes);
  void check_copied(const void* address, uint64_t bytes); // by a copy of a tensor
  void check_write(void* address, uint64_t bytes);
  void check_atomic(void* address, uint64_t bytes); // a read and a write at once

 private:
  enum State : uint8_t { unallocated, unwritten, written }; // of a byte
  static constexpr uint64_t zone = 4096;

  struct Allocation {
    uint64_t bytes, taken; // asked for; with the zone behind it
    uint64_t serial;
  };
  bool holds(const void* address, uint64_t bytes) const;
  void reach(const void* address, uint64_t bytes) const;
  void begin_page(uint64_t page) const;
  uint64_t end_of_block(uint64_t offset) const;
  void need_allocated(const void* address, uint64_t bytes, const char* act) const;
  [[noreturn]] void outside(const void* address, uint64_t bytes, const char* act) const;
  void need_aligned(const void* address, uint64_t bytes, const char* act) const;
  bool all_written(const void* address, uint64_t bytes) const;
  void need_read(const void* address, uint64_t bytes);
  void need_order(Act act, const void* address, uint64_t bytes);
  void need_launches_done(Act act, uint64_t offset, uint64_t bytes) const;
  std::string place(uint64_t offset) const;
  uint64_t offset_of(const void* address) const { return uint64_t(static_cast<const uint8_t*>(address) - base_); }

  mutable std::mutex mutex_;
  const uint64_t bytes_;
  uint8_t *base_, *states_;
  uint64_t used_ = 0, allocations_ = 0;
  bool unwritten_allowed_ = false;
  bool is_lent(const void* address, uint64_t bytes) const;
  std::map<uint64_t, Allocation> blocks_; // by offset
  std::multimap<const uint8_t*, uint64_t> lent_; // bytes; pieces may share pages, so that one address is in several
  static constexpr uint64_t lent = UINT64_MAX; // the allocation of all lent memory
  std::atomic<uint64_t> lendings_{0}; // how often lent_ has changed
  Races races_;
};

// The memory that kernels of this process see.
Memory*& device_memory();

} // namespace quern::gpu
