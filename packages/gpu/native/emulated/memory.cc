#include "emulated/memory.h"

#include <string.h>

#include <algorithm>

#include "emulated/block.h"
#include "emulated/counts.h"
#include "emulated/fault.h"
#include "emulated/pages.h"

namespace quern::gpu {

// Addresses: twice the memory, for guard zones.
Memory::Memory(uint64_t bytes)
    : bytes_(bytes), base_(reserve<uint8_t>(2 * bytes)), states_(reserve<uint8_t>(2 * bytes)), races_(2 * bytes) {}

Memory::~Memory() {
  release(base_, 2 * bytes_);
  release(states_, 2 * bytes_);
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
  blocks_[from] = {bytes, taken, ++allocations_};
  used_ += rounded;
  return base_ + from;
}

// Begins the pages of allocations that nobody has used yet: the first byte of each page that has begun is in an allocation.
void Memory::reach(const void* address, uint64_t bytes) const {
  if (bytes == 0 || !holds(address, bytes)) return;
  const uint64_t offset = offset_of(address);
  for (uint64_t page = offset / zone * zone; page < offset + bytes; page += zone)
    if (states_[page] == unallocated) begin_page(page);
}

void Memory::begin_page(uint64_t page) const {
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(page);
  if (after == blocks_.begin()) return;
  const auto& [start, block] = *std::prev(after);
  if (page >= start + block.bytes) return;
  const uint64_t bytes = std::min(zone, start + block.bytes - page);
  memset(states_ + page, unwritten, bytes);
  memset(base_ + page, 0xff, bytes); // NaN as f32, f16 and bf16; −1 as an index
}

bool Memory::free(uint8_t* data) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(offset_of(data));
  if (found == blocks_.end()) return false;
  const uint64_t taken = found->second.taken;
  forget(states_ + found->first, taken); // unallocated
  forget(data, taken);
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
  reach(address, bytes);
  const uint64_t first = offset_of(address), last = first + bytes - 1;
  if (states_[first] == unallocated || states_[last] == unallocated) outside(address, bytes, act);
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
  memset(states_ + offset_of(to), written, bytes);
}

void Memory::fill(uint8_t* to, uint8_t value, uint64_t bytes) {
  need_allocated(to, bytes, "a fill");
  unwritten_allowed_ = false;
  if (bytes == 0) return;
  memset(to, value, bytes);
  memset(states_ + offset_of(to), written, bytes);
}

void Memory::open_to_host(uint8_t* data) {
  const uint64_t offset = offset_of(data), bytes = end_of_block(offset) - offset;
  reach(data, bytes);
  memset(states_ + offset, written, bytes);
}

void Memory::read(void* to, const uint8_t* from, uint64_t bytes) const {
  need_allocated(from, bytes, "a read");
  if (bytes > 0) memcpy(to, from, bytes);
}

void Memory::lend(const uint8_t* data, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  lent_.insert({data, bytes});
  lendings_++;
}

void Memory::take_back(const uint8_t* data) {
  const std::lock_guard lock(mutex_);
  lent_.erase(lent_.find(data));
  lendings_++;
}

// A thread remembers the last one: kernels read neighbours.
bool Memory::is_lent(const void* address, uint64_t bytes) const {
  struct Found {
    uint64_t lendings = 0;
    const uint8_t* data = nullptr;
    uint64_t size = 0;

    bool holds(const void* at, uint64_t count) const { // any number may be asked for as an address: no sum of both
      const uint64_t offset = uintptr_t(at) - uintptr_t(data);
      return offset < size && count <= size - offset;
    }
  };
  static thread_local Found found;
  if (found.lendings == lendings_ && found.holds(address, bytes)) return true;
  const std::lock_guard lock(mutex_);
  for (const auto& [data, size] : lent_)
    if (const Found one{lendings_, data, size}; one.holds(address, bytes)) {
      found = one;
      return true;
    }
  return false;
}

uint64_t Memory::allocation_of(const void* address) const {
  if (!holds(address, 0)) return is_lent(address, 1) ? lent : 0;
  const uint64_t offset = offset_of(address);
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(offset);
  if (after == blocks_.begin()) return 0;
  const auto& [start, block] = *std::prev(after);
  return offset < start + block.taken ? block.serial : 0;
}

void Memory::need_aligned(const void* address, uint64_t bytes, const char* act) const {
  if (uintptr_t(address) % bytes != 0) fault("%s of %llu bytes at %p is not aligned", act, (unsigned long long)bytes, address);
}

bool Memory::all_written(const void* address, uint64_t bytes) const {
  static constexpr uint8_t all[16] = {written, written, written, written, written, written, written, written,
                                      written, written, written, written, written, written, written, written};
  return holds(address, bytes) && memcmp(states_ + offset_of(address), all, bytes) == 0;
}

void Memory::check_read(const void* address, uint64_t bytes) {
  if (counting) count_access(Access::read, __builtin_return_address(0), address, bytes);
  need_read(address, bytes);
}

void Memory::check_copied(const void* address, uint64_t bytes) {
  if (counting) count_copy(address, bytes);
  need_read(address, bytes);
}

void Memory::need_read(const void* address, uint64_t bytes) {
  need_aligned(address, bytes, "a read");
  if (!holds(address, bytes) && is_lent(address, bytes)) return;
  if (!all_written(address, bytes)) {
    need_allocated(address, bytes, "a read");
    if (!unwritten_allowed_) fault("a read of %llu bytes of memory that was never written", (unsigned long long)bytes);
  }
  need_order(Act::read, address, bytes);
}

void Memory::check_write(void* address, uint64_t bytes) {
  if (counting) count_access(Access::write, __builtin_return_address(0), address, bytes);
  need_aligned(address, bytes, "a write");
  if (!all_written(address, bytes)) {
    need_allocated(address, bytes, "a write");
    memset(states_ + offset_of(address), written, bytes);
  }
  need_order(Act::write, address, bytes);
}

void Memory::check_atomic(void* address, uint64_t bytes) {
  if (counting) count_access(Access::atomic, __builtin_return_address(0), address, bytes);
  need_aligned(address, bytes, "an atomic access");
  need_allocated(address, bytes, "an atomic access");
  if (!all_written(address, bytes)) fault("an atomic access to memory that was never written");
  need_order(Act::atomic, address, bytes);
}

// "byte 8 of an allocation of 1024 bytes"
std::string Memory::place(uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto& [start, block] = *std::prev(blocks_.upper_bound(offset));
  return "byte " + std::to_string(offset - start) + " of an allocation of " + std::to_string(block.bytes) + " bytes";
}

static constexpr const char* verbs[] = {"reads", "writes", "changes atomically"};

void Memory::need_launches_done(Act act, uint64_t offset, uint64_t bytes) const {
  const Block& block = Block::current();
  if (!races_.is_of_running(act, offset, bytes, block.running())) return;
  fault("thread %d of block %d %s %s before previous_launches_done(): a launch before it uses it too", block.self().index,
        block.index(), verbs[int(act)], place(offset).c_str());
}

void Memory::need_order(Act act, const void* address, uint64_t bytes) {
  const Block& block = Block::current();
  if (!block.runs()) return;
  const uint64_t offset = offset_of(address);
  if (!block.self().waited) need_launches_done(act, offset, bytes);
  const Races::Access* const other = races_.record(act, offset, bytes);
  if (!other) return;
  const bool own_block = other->block == uint32_t(block.index()), own = own_block && int(other->thread) == block.self().index;
  const std::string user = own ? "others use" : "thread " + std::to_string(other->thread) + " of block " + std::to_string(other->block) + " uses";
  fault("thread %d of block %d %s %s, which %s too: %s", block.self().index, block.index(), verbs[int(act)],
        place(offset).c_str(), user.c_str(),
        own_block && !other->several_blocks ? "no barrier between them" : "nothing orders the blocks of a launch");
}

Memory*& device_memory() {
  static Memory* memory = nullptr;
  return memory;
}

} // namespace quern::gpu
