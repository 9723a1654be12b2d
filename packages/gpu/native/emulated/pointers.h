// The device memory that a kernel's argument points to. A launch may wait, in a graph for instance: the memory must stay.
#pragma once
#include <stdint.h>

#include <span>
#include <vector>

#include "emulated/memory.h"

namespace quern::gpu {

class Pointers {
 public:
  // Every aligned word of `argument` that is an address of an allocation.
  Pointers(const Memory& memory, std::span<const uint8_t> argument);
  // Fault: an allocation was freed since.
  void need_allocated(const Memory& memory, const char* kernel) const;

 private:
  struct Pointer {
    size_t at; // byte of the argument
    const void* address;
    uint64_t allocation;
  };
  std::vector<Pointer> pointers_;
};

} // namespace quern::gpu
