#include "emulated/memory.h"

#include <string.h>
#include <sys/mman.h>

#include <new>

#include "emulated/fault.h"

namespace quern::gpu {

static uint8_t* reserve(uint64_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) throw std::bad_alloc();
  return static_cast<uint8_t*>(data);
}

// Addresses: twice the memory, for guard zones.
Memory::Memory(uint64_t bytes) : bytes_(bytes), base_(reserve(2 * bytes)), states_(reserve(2 * bytes / word)) {}

Memory::~Memory() {
  munmap(base_, 2 * bytes_);
  munmap(states_, 2 * bytes_ / word);
}

uint64_t Memory::free_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_ - used_;
}

uint8_t* Memory::allocate(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint64_t rounded = (bytes + zone - 1) / zone * zone, taken = rounded + zone;
  if (bytes > bytes_ || rounded > bytes_ - used_) return nullptr;
  uint64_t from = zone;
  for (const auto& [start, block] : blocks_) {
    if (start - from >= taken) break;
    from = start + block.taken;
  }
  if (taken > 2 * bytes_ - from) return nullptr;
  blocks_[from] = {bytes, taken};
  used_ += rounded;
  memset(&state(from), unwritten, (bytes + word - 1) / word);
  memset(base_ + from, 0xff, bytes); // NaN as f32, f16 and bf16; −1 as an index
  return base_ + from;
}

bool Memory::free(uint8_t* data) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(offset_of(data));
  if (found == blocks_.end()) return false;
  const auto [bytes, taken] = found->second;
  memset(&state(found->first), unallocated, taken / word);
  madvise(data, taken, MADV_DONTNEED);
  used_ -= taken - zone;
  blocks_.erase(found);
  return true;
}

bool Memory::holds(const void* address, uint64_t bytes) const {
  const uint64_t offset = offset_of(address);
  return offset < 2 * bytes_ && bytes <= 2 * bytes_ - offset;
}

void Memory::outside(const void* address, uint64_t bytes, const char* act) const {
  if (!holds(address, bytes)) fault("%s of %llu bytes at %p: not an address of the device", act, (unsigned long long)bytes, address);
  const uint64_t offset = offset_of(address);
  const std::lock_guard lock(mutex_);
  auto after = blocks_.upper_bound(offset);
  if (after == blocks_.begin()) fault("%s of %llu bytes before all allocations", act, (unsigned long long)bytes);
  const auto& [start, block] = *--after;
  fault("%s of %llu bytes at byte %llu of an allocation of %llu bytes", act, (unsigned long long)bytes,
        (unsigned long long)(offset - start), (unsigned long long)block.bytes);
}

void Memory::need_allocated(const void* address, uint64_t bytes, const char* act) const {
  if (bytes == 0) return;
  if (!holds(address, bytes)) outside(address, bytes, act);
  const uint64_t first = offset_of(address), last = first + bytes - 1;
  if (state(first) == unallocated || state(last) == unallocated) outside(address, bytes, act);
  if (bytes > zone && end_of_block(first) <= last) outside(address, bytes, act); // shorter ones cannot pass a zone
}

// The first byte behind the allocation that holds `offset`.
uint64_t Memory::end_of_block(uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto& [start, block] = *--blocks_.upper_bound(offset);
  return start + block.bytes;
}

void Memory::write(uint8_t* to, const void* from, uint64_t bytes) {
  need_allocated(to, bytes, "a write");
  if (bytes == 0) return;
  memcpy(to, from, bytes);
  memset(&state(offset_of(to)), written, (offset_of(to) % word + bytes + word - 1) / word);
}

void Memory::fill(uint8_t* to, uint8_t value, uint64_t bytes) {
  need_allocated(to, bytes, "a fill");
  unwritten_allowed_ = false;
  if (bytes == 0) return;
  memset(to, value, bytes);
  memset(&state(offset_of(to)), written, (offset_of(to) % word + bytes + word - 1) / word);
}

void Memory::read(void* to, const uint8_t* from, uint64_t bytes) const {
  need_allocated(from, bytes, "a read");
  if (bytes > 0) memcpy(to, from, bytes);
}

void Memory::check_read(const void* address, uint64_t bytes) const {
  if (uintptr_t(address) % bytes != 0) fault("a read of %llu bytes at %p is not aligned", (unsigned long long)bytes, address);
  need_allocated(address, bytes, "a read");
  const uint64_t first = offset_of(address);
  for (uint64_t at = first / word; at <= (first + bytes - 1) / word; at++)
    if (states_[at] != written) {
      if (states_[at] == unallocated) outside(address, bytes, "a read");
      if (unwritten_allowed_) continue;
      fault("a read of %llu bytes of memory that was never written", (unsigned long long)bytes);
    }
}

void Memory::check_write(void* address, uint64_t bytes) {
  if (uintptr_t(address) % bytes != 0) fault("a write of %llu bytes at %p is not aligned", (unsigned long long)bytes, address);
  need_allocated(address, bytes, "a write");
  const uint64_t first = offset_of(address);
  for (uint64_t at = first / word; at <= (first + bytes - 1) / word; at++) states_[at] = written;
}

Memory*& device_memory() {
  static Memory* memory = nullptr;
  return memory;
}

} // namespace quern::gpu
