// Meaning of the bits of the tiles in packed/tiles.h. Each format has a view of LANES rows of a tile, in a file of
// formats/; the view splits a span (64 weights along k) into blocks. Included by few-rows.h.
//
//   BLOCK            weights that share a scale: 32 or 16; a quad is four of them in one 32-bit lane
//   MAX, OFFSET      quantised values are 0 … MAX and mean value − 2^OFFSET (no offset: NONE); MAX 0: int8 values
//   MINS             each block has a minimum: value · scale − minus_min
//   quads<s, b>(q)   the quads of block b of span s
//   scale<s, b>(), minus_min<s, b>()
#pragma once
#include "../packed/tiles.h"
#include "inline.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int NONE = -1;

// Prefetches one of `shares` parts of the lines behind a tile: memory loads them while this tile is multiplied or laid out.
// Tiles of 256 weights mix loads of 16, 32 and 64 bytes, which the hardware does not recognise as a stream. Parts, not all
// lines at once, and two distances: a core's queue of misses is short (docs/performance.md).
constexpr int64_t L1_AHEAD = 1024, L2_AHEAD = 3584;
template <class F, int share, int shares>
QUERN_INLINE void prefetch_ahead(const uint8_t* tile) {
  constexpr int64_t lines = sizeof(typename F::Tile) / 64;
  static_assert(sizeof(typename F::Tile) == lines * 64);
#pragma GCC unroll 64
  for (int64_t line = lines * share / shares; line < lines * (share + 1) / shares; line++) {
    __builtin_prefetch(tile + line * 64 + L1_AHEAD);
    __builtin_prefetch(tile + line * 64 + L2_AHEAD, 0, 2);
  }
}

// Rows of a line, from `row` on.
inline Bytes rows_of(const Line& line, int row) { return load_bytes(line + 4 * row); }
// (x >> shift) & mask, per byte.
template <int shift, int mask>
inline Bytes bits(Bytes x) { return low_bits<mask>(shift_right<shift>(x)); }
// q | (bits `mask` at bit `from` of each byte of x, moved to bit `to`).
template <int from, int to, int mask>
inline Bytes with_bits(Bytes q, Bytes x) {
  if constexpr (from <= to) return merge<mask << to>(q, shift_left<to - from>(x));
  else return merge<mask << to>(q, shift_right<from - to>(x));
}

template <int... I>
struct Indices {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Indices<I...>;
};
template <int I>
struct Index {
  static constexpr int value = I;
};
template <class F, int... I>
QUERN_INLINE void each_index(F&& f, Indices<I...>) { (f(Index<I>()), ...); }
// f(Index<0>()) … f(Index<N − 1>()): shift amounts that depend on the index must be compile-time constants.
template <int N, class F>
QUERN_INLINE void repeat(F&& f) { each_index(f, typename Count<N>::type()); }

// Quads from lines of nibbles: all low nibbles, then all high nibbles.
template <int LINES>
QUERN_INLINE void nibbles(const Line (&lines)[LINES], int row, Bytes (&q)[2 * LINES]) {
  repeat<LINES>([&](auto i) QUERN_INLINE_LAMBDA {
    const Bytes line = rows_of(lines[i.value], row);
    q[i.value] = bits<0, 15>(line);
    q[i.value + LINES] = bits<4, 15>(line);
  });
}
// Four quads from a line of bit pairs.
QUERN_INLINE void pairs(const Line& line, int row, Bytes (&q)[4]) {
  repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = bits<2 * i.value, 3>(rows_of(line, row)); });
}
QUERN_INLINE void add_fifth_bits(Bytes line, Bytes (&q)[8]) {
  repeat<8>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<i.value, 4, 1>(q[i.value], line); });
}

// Formats of 32 weights with an f16 scale; a tile is one span of two blocks.
template <class T>
struct Simple {
  using Tile = T;
  static constexpr int SPANS = 1, BLOCK = 32, OFFSET = NONE;
  static constexpr bool MINS = false;
  Simple(const void* at, int first) : tile(*static_cast<const T*>(at)), row(first) {}
  template <int s, int b>
  Floats scale() const { return load(tile.d[b] + row); }

  const T& tile;
  const int row;
};

// A table for look_up, `offset` added to its values.
struct alignas(16) Lookup {
  uint8_t values[16];
  constexpr Lookup(const int8_t (&table)[16], int offset) : values() {
    for (int i = 0; i < 16; i++) values[i] = uint8_t(table[i] + offset);
  }
};
constexpr Lookup iq4_lookup(iq4_values, 0), fp4_lookup(fp4_values, 16);

template <int COUNT>
QUERN_INLINE void look_up_all(const Lookup& table, Bytes (&q)[COUNT]) {
  repeat<COUNT>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = look_up(table.values, q[i.value]); });
}

// Formats of 256 weights; a tile is four spans. Groups of 16 or 32 weights have small scales; d is common.
template <class T, int GROUP>
struct Super {
  using Tile = T;
  static constexpr int SPANS = 4, BLOCK = GROUP, OFFSET = NONE;
  static constexpr bool MINS = false;
  Super(const void* at, int first) : tile(*static_cast<const T*>(at)), row(first), d(load(tile.d + row)) {}
  template <int s, int b>
  Floats scale() const { return load_floats(tile.span[s].scales[b] + row) * d; }

  const T& tile;
  const int row;
  const Floats d;
};

template <class T>
struct SuperWithMins : Super<T, 32> {
  static constexpr bool MINS = true;
  SuperWithMins(const void* at, int first) : Super<T, 32>(at, first), dmin(load(this->tile.dmin + this->row)) {}
  template <int s, int b>
  Floats minus_min() const { return load_floats(this->tile.span[s].mins[b] + this->row) * dmin; }

  const Floats dmin;
};

} // namespace
} // namespace quern::QUERN_ISA

#include "../generated/simd-formats.h"
