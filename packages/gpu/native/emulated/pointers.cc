#include "emulated/pointers.h"

#include <string.h>

#include "emulated/fault.h"

namespace quern::gpu {

Pointers::Pointers(const Memory& memory, std::span<const uint8_t> argument) {
  for (size_t at = 0; at + sizeof(void*) <= argument.size(); at += alignof(void*)) {
    const void* address = nullptr;
    memcpy(&address, &argument[at], sizeof address);
    if (const uint64_t allocation = memory.allocation_of(address)) pointers_.push_back({at, address, allocation});
  }
}

void Pointers::need_allocated(const Memory& memory, const char* kernel) const {
  for (const auto& [at, address, allocation] : pointers_)
    if (memory.allocation_of(address) != allocation)
      fault("%s: byte %zu of its argument points to memory that was freed between its capture and its launch", kernel, at);
}

} // namespace quern::gpu
