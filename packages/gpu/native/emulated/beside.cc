// Barriers that count bytes, and copies of tensors.
#include "emulated/beside.h"

#include <string.h>

#include "dialect/host.h"

namespace quern::gpu {

static constexpr unsigned place = 16; // bytes of an element that copies and products use

// Bytes within shared memory, for messages.
static unsigned offset(unsigned address) { return address - Block::origin; }

void Beside::begin_block() {
  barriers_.clear();
  warpgroups_.assign(size_t(Block::current().count() / WARPGROUP), {});
}

void Beside::end_block() const {
  for (const Barrier& barrier : barriers_)
    if (!barrier.copies.empty()) fault("the block ends before the copies of the barrier at byte %u have landed", offset(barrier.address));
  for (const Warpgroup& group : warpgroups_)
    if (!group.pending.empty()) fault("the block ends before the products of a warpgroup have been waited for");
}

void Beside::begin(unsigned address, int arrivals) {
  const Block& block = Block::current();
  block.shared_bytes(address, 8, "a barrier");
  if (address % 8 != 0 || arrivals < 1) fault("a barrier of %d arrivals at byte %u", arrivals, offset(address));
  for (const Barrier& other : barriers_)
    if (other.address == address) fault("the barrier at byte %u begins twice", offset(address));
  barriers_.push_back({address, arrivals, arrivals, block.self().index, block.self().now, false, 0, 0, 0, {}});
}

void Beside::begun() {
  for (Barrier& barrier : barriers_)
    if (barrier.thread == Block::current().self().index) barrier.known = true;
}

Beside::Barrier& Beside::find(unsigned address) {
  const Thread& self = Block::current().self();
  for (Barrier& barrier : barriers_) {
    if (barrier.address != address) continue;
    if (barrier.thread != self.index && barrier.begun.block == self.now.block)
      fault("thread %d uses the barrier at byte %u, which thread %d begins: no barrier of the block between them", self.index,
            offset(address), barrier.thread);
    if (!barrier.known) fault("thread %d uses the barrier at byte %u, which nothing made known: barriers_begun", self.index, offset(address));
    return barrier;
  }
  fault("thread %d uses a barrier at byte %u, where none has begun", self.index, offset(address));
}

void Beside::arrive(unsigned address, int bytes) {
  Barrier& barrier = find(address);
  if (barrier.left == 0)
    fault("thread %d arrives at the barrier at byte %u: phase %u has its %d arrivals, and bytes are missing", Block::current().self().index,
          offset(address), barrier.ended, barrier.arrivals);
  barrier.left--;
  barrier.expected += bytes;
  settle(barrier);
}

// A phase without copies ends at once; one with copies, when somebody waits for it.
void Beside::settle(Barrier& barrier) {
  if (!barrier.is_complete()) return;
  if (barrier.copies.empty()) end_phase(barrier);
  Block::current().wake(barrier.address);
}

void Beside::end_phase(Barrier& barrier) {
  for (const Copy& copy : barrier.copies) land(copy);
  barrier.copies.clear();
  barrier.ended++;
  barrier.left = barrier.arrivals;
  barrier.expected = barrier.issued = 0;
}

void Beside::wait(unsigned address, int parity) {
  Thread& self = Block::current().self();
  for (;;) {
    Barrier& barrier = find(address);
    const bool present = int(barrier.ended % 2) == parity;
    if (present && barrier.is_complete()) end_phase(barrier), Block::current().wake(address);
    else if (present) {
      Block::current().sleep(address, parity);
      continue;
    }
    self.seen.resize(barriers_.size());
    self.seen[size_t(&barrier - barriers_.data())] = barrier.ended;
    return;
  }
}

std::string Beside::waited_for(const Thread& thread) const {
  for (const Barrier& barrier : barriers_)
    if (barrier.address == thread.barrier)
      return "waits for a phase of parity " + std::to_string(thread.parity) + " of the barrier at byte " + std::to_string(offset(barrier.address)) +
             ", which is in phase " + std::to_string(barrier.ended) + ": " + std::to_string(barrier.arrivals - barrier.left) + " of " +
             std::to_string(barrier.arrivals) + " arrivals, " + std::to_string(barrier.issued) + " of " + std::to_string(barrier.expected) + " bytes";
  return "waits for a barrier";
}

void Beside::copy(unsigned to, const TensorMap& map, int column, int row, unsigned address) {
  Barrier& barrier = find(address);
  const Copy copy{decoded(map), to, column, row};
  const unsigned bytes = copy.map.box_bytes();
  const unsigned multiple = copy.map.swizzle != 0 ? EncodedMap::swizzled_bytes : 128;
  if (to % multiple != 0) fault("a copy of a tensor to byte %u of shared memory, which is no multiple of %u", offset(to), multiple);
  if (copy.map.swizzle != 0 && copy.map.box_row_bytes() != 128) fault("a box whose rows have %u bytes", copy.map.box_row_bytes());
  if (barrier.issued + bytes > barrier.expected)
    fault("a copy of %u bytes for the barrier at byte %u, which expects %lld of them", bytes, offset(address),
          (long long)(barrier.expected - barrier.issued));
  claim(copy, int(&barrier - barriers_.data()));
  barrier.issued += bytes;
  barrier.copies.push_back(copy);
  settle(barrier);
}

// Threads' writes are known to copies and products.
void Beside::need_fence(const Element& element, const char* name, int64_t i) const {
  if (element.copied >= 0 || element.writer < 0 || Block::current().thread(element.writer).fences > element.fences) return;
  fault("%s[%lld], which thread %d writes, is used by a copy or a product: no writes_before_copies between them", name, (long long)i, element.writer);
}

// The copy may write its places at any time from now on.
void Beside::claim(const Copy& copy, int barrier) {
  Block& block = Block::current();
  const unsigned bytes = copy.map.box_bytes();
  uint8_t* const data = block.shared_bytes(copy.to, bytes, "a copy of a tensor");
  for (unsigned at = 0; at < bytes; at += place) {
    Element& element = block.shared_element(copy.to + at, "a copy of a tensor");
    const int64_t i = (offset(copy.to) + at) / place;
    if (element.block == block.id()) {
      need_fence(element, block.large_array().name, i);
      element.check_write(block.large_array().name, i, nullptr, 0); // as one of this thread
    }
    element = Element{};
    element.block = block.id(), element.copied = barrier, element.phase = barriers_[size_t(barrier)].ended + 1;
  }
  memset(data, 0xff, bytes); // NaN
}

// Values [column .. column + 7] of a row; zeros outside of the matrix.
static void take_eight(uint16_t* to, const EncodedMap& map, int64_t row, int64_t column) {
  memset(to, 0, place);
  if (row < 0 || row >= int64_t(map.rows)) return;
  const uint8_t* const from = map.address + uint64_t(row) * map.pitch;
  if (column % 8 == 0 && column >= 0 && column + 8 <= int64_t(map.columns)) {
    device_memory()->check_copied(from + column * 2, place);
    memcpy(to, from + column * 2, place);
    return;
  }
  for (int i = 0; i < 8; i++) {
    if (column + i < 0 || column + i >= int64_t(map.columns)) continue;
    device_memory()->check_copied(from + (column + i) * 2, 2);
    memcpy(to + i, from + (column + i) * 2, 2);
  }
}

// CU_TENSOR_MAP_SWIZZLE_128B: bits 4 to 6 of the address, exclusive or bits 7 to 9.
void Beside::land(const Copy& copy) const {
  const Block& block = Block::current();
  const unsigned row_bytes = copy.map.box_row_bytes();
  for (unsigned r = 0; r < copy.map.box_rows; r++)
    for (unsigned at = 0; at < row_bytes; at += place) {
      const unsigned address = copy.to + r * row_bytes + at, swizzled = copy.map.swizzle ? address ^ (address >> 7 & 7) << 4 : address;
      uint16_t eight[8];
      take_eight(eight, copy.map, copy.row + r, copy.column + at / 2);
      memcpy(block.shared_bytes(swizzled, place, "a copy of a tensor"), eight, place);
    }
}

bool Beside::has_landed(const Element& element) const {
  return element.copied < 0 || barriers_[size_t(element.copied)].ended >= element.phase;
}

static bool has_seen(const Thread& thread, const Element& element) {
  return size_t(element.copied) < thread.seen.size() && thread.seen[size_t(element.copied)] >= element.phase;
}

void Beside::check_read(const Element& element, const char* name, int64_t i) const {
  const Block& block = Block::current();
  if (element.block != block.id() || element.copied < 0 || has_seen(block.self(), element)) return;
  fault("thread %d reads %s[%lld] before it has waited for the barrier of the copy", block.self().index, name, (long long)i);
}

void Beside::check_write(const Element& element, const char* name, int64_t i) const {
  const Block& block = Block::current();
  if (element.block != block.id()) return;
  if (!has_landed(element)) fault("thread %d writes %s[%lld] before the copy of a tensor has landed", block.self().index, name, (long long)i);
  if (is_multiplied(element)) fault("thread %d writes %s[%lld], which products read that were not waited for", block.self().index, name, (long long)i);
}

} // namespace quern::gpu
