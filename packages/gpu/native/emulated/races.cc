#include "emulated/races.h"

#include "emulated/block.h"
#include "emulated/pages.h"

namespace quern::gpu {

static constexpr uint64_t word_bytes = 4;

Races::Races(uint64_t bytes)
    : bytes_(bytes),
      words_(reserve<History>(bytes / word_bytes)),
      parts_(reserve<History>(bytes)) {}

Races::~Races() {
  release(words_, bytes_ / word_bytes);
  release(parts_, bytes_);
}

static Races::Access present(Act act) {
  Block& block = Block::current();
  const Thread& self = block.self();
  Races::Access now;
  now.launch = block.launch(), now.block = uint32_t(block.index()), now.barriers = self.now.block;
  now.warp_barriers = uint16_t(self.now.warp), now.thread = uint16_t(self.index) & 1023, now.atomic = act == Act::atomic;
  return now;
}

static bool same_warp(const Races::Access& a, const Races::Access& b) { return a.thread / WARP == b.thread / WARP; }

// Whether `then`, or an access that it stands for, may overlap `now`.
static bool overlaps(const Races::Access& then, const Races::Access& now) {
  if (then.launch != now.launch) return false;
  if (then.several_blocks || then.block != now.block) return true;
  if (then.barriers != now.barriers) return false;
  if (then.several_warps || !same_warp(then, now)) return true;
  return then.thread != now.thread && then.warp_barriers == now.warp_barriers;
}

// `now` stands for `then` as well.
static Races::Access after(const Races::Access& then, Races::Access now) {
  if (then.launch != now.launch) return now;
  now.several_blocks = then.several_blocks || then.block != now.block;
  now.several_warps = then.block == now.block && then.barriers == now.barriers && (then.several_warps || !same_warp(then, now));
  return now;
}

const Races::Access* Races::History::add(Act act, const Access& now) {
  const bool both_atomic = act == Act::atomic && write.atomic;
  if (!both_atomic && overlaps(write, now)) return &write;
  if (act == Act::read) return read = after(read, now), nullptr;
  if (overlaps(read, now)) return &read;
  write = both_atomic ? after(write, now) : now;
  return nullptr;
}

// Of a word in parts: of the byte, with reads of the whole word since.
Races::History Races::known_of(uint64_t byte) const {
  const History& whole = words_[byte / word_bytes];
  if (!whole.write.in_parts) return whole;
  History known = parts_[byte];
  if (whole.read.launch > known.read.launch) known.read = whole.read;
  return known;
}

// The histories of the word's bytes, which begin as the word's.
Races::History* Races::parts_of(uint64_t word, const Access& now) {
  History& whole = words_[word];
  History* const parts = parts_ + word * word_bytes;
  if (whole.write.launch == now.launch && whole.write.in_parts) return parts;
  for (uint64_t i = 0; i < word_bytes; i++) parts[i] = known_of(word * word_bytes + i);
  whole.write.launch = now.launch, whole.write.in_parts = true;
  return parts;
}

const Races::Access* Races::record(Act act, uint64_t at, uint64_t bytes) {
  const Access now = present(act);
  const uint64_t end = at + bytes;
  for (uint64_t word = at / word_bytes; word * word_bytes < end; word++) {
    History& whole = words_[word];
    const bool in_parts = bytes < word_bytes || (whole.write.in_parts && whole.write.launch == now.launch);
    if (!in_parts) {
      if (const Access* const other = whole.add(act, now)) return other;
      continue;
    }
    History* const parts = parts_of(word, now);
    for (uint64_t i = 0; i < word_bytes; i++) {
      const uint64_t byte = word * word_bytes + i;
      if (byte < at || byte >= end) continue;
      if (const Access* const other = parts[i].add(act, now)) return other;
    }
  }
  return nullptr;
}

bool Races::is_of_running(Act act, uint64_t at, uint64_t bytes, uint32_t running) const {
  const uint32_t own = Block::current().launch();
  const auto runs = [&](const Access& then) { return then.launch >= running && then.launch < own; };
  for (uint64_t byte = at; byte < at + bytes; byte++) {
    const History known = known_of(byte);
    if (runs(known.write) || (act != Act::read && runs(known.read))) return true;
  }
  return false;
}

} // namespace quern::gpu
