#include "dialect/host.h"
#include "emulated/counts.h"

namespace quern::gpu {

// Whether an access of `thread` at `then` may still overlap one of the present thread: no barrier lies between them.
static bool overlaps(int thread, Moment then) {
  const Thread& self = Block::current().self();
  if (thread == self.index || then.block != self.now.block) return false;
  return thread / WARP != self.index / WARP || then.warp == self.now.warp;
}

void Element::check_read(const char* name, int64_t i, const void* value, uint64_t bytes) {
  if (counting) count_access(Access::shared_read, __builtin_return_address(0), value, bytes);
  Block& now = Block::current();
  const Thread& self = now.self();
  if (pending >= 0 && block == now.id())
    fault("thread %d reads %s[%lld] before the asynchronous copy of thread %d has landed", self.index, name, (long long)i, pending);
  if (block != now.id()) fault("thread %d reads %s[%lld], which was never written", self.index, name, (long long)i);
  if (copied >= 0 || multiplier >= 0) now.beside().check_read(*this, name, i);
  if (copied < 0 && overlaps(writer, written))
    fault("thread %d reads %s[%lld], which thread %d writes: no barrier between them", self.index, name, (long long)i, writer);
  const bool again = reader >= 0 && seen.block == self.now.block;
  several_warps = again && (several_warps || reader / WARP != self.index / WARP);
  reader = self.index, seen = self.now;
}

void Element::check_write(const char* name, int64_t i, const void* value, uint64_t bytes) {
  if (counting && bytes > 0) count_access(Access::shared_write, __builtin_return_address(0), value, bytes);
  Block& now = Block::current();
  const Thread& self = now.self();
  if (block != now.id()) *this = Element{};
  if (pending >= 0)
    fault("thread %d writes %s[%lld] before the asynchronous copy of thread %d has landed", self.index, name, (long long)i, pending);
  if (copied >= 0 || multiplier >= 0) now.beside().check_write(*this, name, i);
  if (writer >= 0 && overlaps(writer, written))
    fault("threads %d and %d write %s[%lld]: no barrier between them", writer, self.index, name, (long long)i);
  const bool others = several_warps && seen.block == self.now.block;
  if (reader >= 0 && (others || overlaps(reader, seen)))
    fault("thread %d writes %s[%lld], which thread %d reads: no barrier between them", self.index, name, (long long)i, reader);
  block = now.id(), writer = self.index, written = self.now, fences = self.fences, copied = -1;
}

Element& Block::shared_element(unsigned address, const char* act) const {
  constexpr unsigned bytes = 16;
  shared_bytes(address, bytes, act);
  if (address % bytes != 0 || large_.element_bytes != bytes) fault("%s at byte %u of shared memory: its elements have %u bytes", act, address - origin, bytes);
  return large_.elements[(address - origin) / bytes];
}

void copies_commit() {
  Thread& self = Block::current().self();
  size_t before = 0;
  for (const size_t group : self.groups) before += group;
  self.groups.push_back(self.copies.size() - before);
}

void copies_wait_for(int left) {
  Thread& self = Block::current().self();
  while (self.groups.size() > size_t(left)) {
    const auto end = self.copies.begin() + ptrdiff_t(self.groups.front());
    for (auto copy = self.copies.begin(); copy != end; copy++) (*copy)();
    self.copies.erase(self.copies.begin(), end);
    self.groups.erase(self.groups.begin());
  }
}

} // namespace quern::gpu
