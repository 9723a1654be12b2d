// The product of quantised rows with packed weights (packed/tiles.h). Dot products within a block are exact integers; the
// block's scale converts them to floats; only the activations are rounded. An ISA folder offers, beside vector.h: bytes.h
// (registers of bytes), dots.h (dot products of bytes).
//
// The order of a sum is the same in every call and loop: per 32 values of x, part = Σ of its blocks' dots · scales, then
// sum += part · scale of x, then sum += minimum · sum of x.
#pragma once
#include "packed-formats.h"

namespace quern::QUERN_ISA {
namespace {

// TT rows of x.
template <int TT>
struct Rows {
  QuantisedRow row[TT];
};

// Integer dot products of a block with one row of x, minus the format's offset.
template <class F, int COUNT>
QUERN_INLINE Ints block_dots(const Bytes (&q)[COUNT], const int8_t* x, const int32_t* negative_sum) {
  if constexpr (F::MAX == 0) return signed_dots(q, x, negative_sum);
  else if constexpr (F::OFFSET == NONE) return dots<COUNT, F::MAX>(no_ints(), q, x);
  else return dots<COUNT, F::MAX>(times_power_of_2<F::OFFSET>(broadcast(negative_sum)), q, x);
}

// sums[t] += products of block b of span s with scales of x; `at`: index of this span in x. The blocks of 32 values share
// parts[t].
template <class F, int TT, int s, int b>
QUERN_INLINE void add_block(const F& tile, const Rows<TT>& x, int64_t at, Floats (&parts)[TT], Floats (&sums)[TT]) {
  constexpr int blocks = SPAN / F::BLOCK, in_share = SHARE / F::BLOCK;
  Bytes q[F::BLOCK / 4];
  tile.template quads<s, b>(q);
  const Floats scale = tile.template scale<s, b>();
  Floats minus_min;
  if constexpr (F::MINS) minus_min = tile.template minus_min<s, b>();
  const int64_t share = at * 2 + b / in_share;
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) {
    const QuantisedRow& row = x.row[t];
    const int32_t* negative_sum = (in_share == 1 ? row.sums32 : row.sums16) + at * blocks + b;
    const Floats dot = to_floats(block_dots<F>(q, row.values + at * SPAN + b * F::BLOCK, negative_sum));
    parts[t] = b % in_share == 0 ? dot * scale : fma(dot, scale, parts[t]);
    if constexpr (F::MINS && in_share > 1) parts[t] = fma(to_floats(broadcast(negative_sum)), minus_min, parts[t]);
    if constexpr ((b + 1) % in_share == 0) sums[t] = fma(parts[t], set(row.scales[share]), sums[t]);
    if constexpr (F::MINS && in_share == 1) sums[t] = fma(set(row.minus_sums[share]), minus_min, sums[t]);
  }
}

// LANES rows of a row of tiles, from `row` on, with TT rows of x; sums[t] is the full sum over K.
template <class F, int TT>
QUERN_INLINE void multiply_tiles(const uint8_t* tiles, int row, int64_t count, const Rows<TT>& x, Floats (&sums)[TT]) {
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) sums[t] = set(0);
  for (int64_t i = 0; i < count; i++, tiles += sizeof(typename F::Tile)) {
    const F tile(tiles, row);
    repeat<F::SPANS>([&](auto s) QUERN_INLINE_LAMBDA {
      constexpr int blocks = SPAN / F::BLOCK;
      const int64_t at = i * F::SPANS + s.value;
      Floats parts[TT];
      repeat<blocks>([&](auto b) QUERN_INLINE_LAMBDA {
        prefetch_ahead<F, s.value * blocks + b.value, F::SPANS * blocks>(tiles);
        add_block<F, TT, s.value, b.value>(tile, x, at, parts, sums);
      });
    });
  }
}

// Rows [t, t + TT) of x with one row of tiles, i.e. columns n, n + 1, … of y.
template <class F, int TT>
void multiply_rows(const PackedGemm& g, const uint8_t* tiles, int64_t t, int64_t n) {
  constexpr int64_t tile_k = F::SPANS * SPAN;
  Rows<TT> x;
  for (int i = 0; i < TT; i++) x.row[i] = quantised_row(g.x + (t + i) * quantised_row_bytes(g.K), g.K);
  for (int row = 0; row < PACKED_ROWS && n + row < g.N; row += LANES) {
    Floats sums[TT];
    multiply_tiles<F, TT>(tiles, row, (g.K + tile_k - 1) / tile_k, x, sums);
    const int64_t first = n + row, left = g.N - first;
    for (int i = 0; i < TT; i++) {
      float* y = g.y + (t + i) * g.ldy + first;
      if (left >= LANES) store(y, g.bias ? sums[i] + load(g.bias + first) : sums[i]);
      else store(y, g.bias ? sums[i] + load(g.bias + first, left) : sums[i], left);
    }
  }
}

template <class F>
inline void few_rows(const PackedGemm& g) {
  const int64_t tile_row_bytes = (g.K + F::SPANS * SPAN - 1) / (F::SPANS * SPAN) * int64_t(sizeof(typename F::Tile));
  for (int64_t n = 0; n < g.N; n += PACKED_ROWS) {
    const uint8_t* tiles = g.w + n / PACKED_ROWS * tile_row_bytes;
    int64_t t = 0;
    if constexpr (PACKED_T >= 8)
      for (; t + 8 <= g.T; t += 8) multiply_rows<F, 8>(g, tiles, t, n);
    for (; t + 4 <= g.T; t += 4) multiply_rows<F, 4>(g, tiles, t, n);
    for (; t + 2 <= g.T; t += 2) multiply_rows<F, 2>(g, tiles, t, n);
    for (; t < g.T; t++) multiply_rows<F, 1>(g, tiles, t, n);
  }
}

} // namespace
} // namespace quern::QUERN_ISA
