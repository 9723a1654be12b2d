// What the bits of the tiles in packed/tiles.h mean: for each format a view of LANES rows of a tile that takes a span of
// 64 weights along k apart into blocks. Included by packed-gemm.h.
//
//   BLOCK            weights that share a scale: 32 or 16; a quad is four of them in one 32-bit lane
//   MAX, OFFSET      a quantised value is in 0 … MAX, and means value − 2^OFFSET (no OFFSET: NONE); MAX 0: it is an int8
//   MINS             there is a minimum for each block: value · scale − minus_min
//   quads<s, b>(q)   the quads of block b of span s
//   scale<s, b>(), minus_min<s, b>()
#pragma once
#include "../packed/tiles.h"
#include "inline.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int NONE = -1;

// Asks for what lies so many bytes behind a tile, which then comes from memory while this one is multiplied or laid out. Where
// one row of x waits for memory anyway the hardware reads ahead far enough.
constexpr int64_t AHEAD = 4096;
template <class F>
QUERN_INLINE void ask_ahead(const uint8_t* tile) {
  for (int64_t at = 0; at < int64_t(sizeof(typename F::Tile)); at += 64) __builtin_prefetch(tile + AHEAD + at, 0, 2);
}

// The rows from `row` on of a line.
inline Bytes rows_of(const Line& line, int row) { return load_bytes(line + 4 * row); }
// The bits of `mask`, after they have been moved to the right.
template <int shift, int mask>
inline Bytes bits(Bytes x) { return low_bits<mask>(shift_right<shift>(x)); }
// q with the bits of `mask` at bit `from` of every byte of x, moved to bit `to`.
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
// f(Index<0>()) … f(Index<N − 1>()): shifts by an amount that depends on the index must be known to the compiler.
template <int N, class F>
QUERN_INLINE void repeat(F&& f) { each_index(f, typename Count<N>::type()); }

// Quads from lines of nibbles: the low ones, then the high ones.
template <int LINES>
QUERN_INLINE void nibbles(const Line (&lines)[LINES], int row, Bytes (&q)[2 * LINES]) {
  repeat<LINES>([&](auto i) QUERN_INLINE_LAMBDA {
    const Bytes line = rows_of(lines[i.value], row);
    q[i.value] = bits<0, 15>(line);
    q[i.value + LINES] = bits<4, 15>(line);
  });
}
// Four quads from a line of pairs of bits.
QUERN_INLINE void pairs(const Line& line, int row, Bytes (&q)[4]) {
  repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = bits<2 * i.value, 3>(rows_of(line, row)); });
}
QUERN_INLINE void add_fifth_bits(Bytes line, Bytes (&q)[8]) {
  repeat<8>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<i.value, 4, 1>(q[i.value], line); });
}

// The formats of 32 weights with an f16 scale; a tile is one span of two blocks.
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

struct Q4_0 : Simple<TileQ4_0> {
  static constexpr int MAX = 15, OFFSET = 3;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.q[b], row, q); }
};

// A table that look_up reads, its values `offset` higher.
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

struct IQ4_NL : Simple<TileQ4_0> {
  static constexpr int MAX = 0;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    look_up_all(iq4_lookup, q);
  }
};

struct MXFP4 : Simple<TileMXFP4> {
  static constexpr int MAX = 31, OFFSET = 4;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    look_up_all(fp4_lookup, q);
  }
  template <int s, int b>
  Floats scale() const { return load_bf16(tile.d[b] + row); }
};

struct Q4_1 : Simple<TileQ4_1> {
  static constexpr int MAX = 15;
  static constexpr bool MINS = true;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.q[b], row, q); }
  template <int s, int b>
  Floats minus_min() const { return set(0) - load(tile.m[b] + row); }
};

struct Q5_0 : Simple<TileQ5_0> {
  static constexpr int MAX = 31, OFFSET = 4;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    add_fifth_bits(rows_of(tile.fifth[b], row), q);
  }
};

struct Q5_1 : Simple<TileQ5_1> {
  static constexpr int MAX = 31;
  static constexpr bool MINS = true;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.q[b], row, q);
    add_fifth_bits(rows_of(tile.fifth[b], row), q);
  }
  template <int s, int b>
  Floats minus_min() const { return set(0) - load(tile.m[b] + row); }
};

struct Q8_0 : Simple<TileQ8_0> {
  static constexpr int MAX = 0;
  using Simple::Simple;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    repeat<8>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = rows_of(tile.q[b][i.value], row); });
  }
};

// The formats of 256 weights; a tile is four spans. Groups of 16 or 32 have small scales, d is common.
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

struct Q2_K : Super<TileQ2_K, 16> {
  static constexpr int MAX = 3;
  static constexpr bool MINS = true;
  Q2_K(const void* at, int first) : Super(at, first), dmin(load(tile.dmin + row)) {}
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const { pairs(tile.span[s].q[b], row, q); }
  template <int s, int b>
  Floats scale() const { return nibble_floats<0>(tile.span[s].scales[b]) * d; }
  template <int s, int b>
  Floats minus_min() const { return nibble_floats<4>(tile.span[s].scales[b]) * dmin; }

  template <int shift>
  Floats nibble_floats(const uint8_t (&bytes)[PACKED_ROWS]) const {
    uint8_t nibbles[LANES];
    for (int i = 0; i < LANES; i++) nibbles[i] = uint8_t(bytes[row + i] >> shift & 15);
    return load_floats(nibbles);
  }

  const Floats dmin;
};

struct Q3_K : Super<TileQ3_K, 16> {
  static constexpr int MAX = 7, OFFSET = 2;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    pairs(tile.span[s].q[b], row, q);
    const Bytes third = rows_of(tile.span[s].third[b / 2], row);
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<b % 2 * 4 + i.value, 2, 1>(q[i.value], third); });
  }
};

struct Q4_K : SuperWithMins<TileQ4_K> {
  static constexpr int MAX = 15;
  using SuperWithMins::SuperWithMins;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const { nibbles(tile.span[s].q[b], row, q); }
};

struct Q5_K : SuperWithMins<TileQ5_K> {
  static constexpr int MAX = 31;
  using SuperWithMins::SuperWithMins;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    const auto& block = tile.span[s].block[b];
    nibbles(block.q, row, q);
    add_fifth_bits(rows_of(block.fifth, row), q);
  }
};

struct Q6_K : Super<TileQ6_K, 16> {
  static constexpr int MAX = 63, OFFSET = 5;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    const auto& block = tile.span[s].block[b];
    nibbles(block.low, row, q);
    const Bytes high = rows_of(block.high, row);
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = with_bits<2 * i.value, 4, 3>(q[i.value], high); });
  }
};

struct IQ4_XS : Super<TileIQ4_XS, 32> {
  static constexpr int MAX = 0;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[8]) const {
    nibbles(tile.span[s].q[b], row, q);
    look_up_all(iq4_lookup, q);
  }
};

struct IQ8 : Super<TileIQ8, 16> {
  static constexpr int MAX = 0;
  using Super::Super;
  template <int s, int b>
  QUERN_INLINE void quads(Bytes (&q)[4]) const {
    repeat<4>([&](auto i) QUERN_INLINE_LAMBDA { q[i.value] = rows_of(tile.span[s].q[b][i.value], row); });
  }
};

} // namespace
} // namespace quern::QUERN_ISA
