// The product of quantised rows with packed weights: arithmetic of simd/few-rows.h, other loop order. A register has 4
// of a tile's 16 rows. So each span of x meets all 16 rows before the next span: the weights are read once, in order, and
// span.h may rearrange x for the instructions. The order of a sum is the same in every call.
#pragma once
#include "../simd/packed-formats.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int GROUPS = PACKED_ROWS / LANES;

// The weights of a block as signed integers.
template <class F, int s, int b, int COUNT>
inline void signed_quads(const F& tile, Bytes (&q)[COUNT]) {
  tile.template quads<s, b>(q);
  if constexpr (F::OFFSET != NONE)
    for (int i = 0; i < COUNT; i++) q[i] = vsubq_u8(q[i], vdupq_n_u8(1 << F::OFFSET));
}
template <class F>
constexpr int largest_weight() { return F::MAX == 0 ? 128 : F::OFFSET == NONE ? F::MAX : 1 << F::OFFSET; }

// As in simd/few-rows.h.
template <class F, int TT, int s, int b>
inline void add_block(const F& tile, const QuantisedRow (&x)[TT], const Span<TT>& span, int64_t at, Floats (&parts)[TT], Floats (&sums)[TT]) {
  // Without this barrier g++ loads the next block while eight rows of x fill all registers, and spills.
  if constexpr (TT == 8) asm volatile("" ::: "memory");
  Bytes q[F::BLOCK / 4];
  signed_quads<F, s, b>(tile, q);
  const Floats scale = tile.template scale<s, b>();
  Floats minus_min;
  if constexpr (F::MINS) minus_min = tile.template minus_min<s, b>();
  constexpr int in_share = SHARE / F::BLOCK; // blocks
  const int64_t share = at * 2 + b / in_share;
  dots<largest_weight<F>()>(q, span, b * F::BLOCK, [&](int t, Ints dot) {
    parts[t] = b % in_share == 0 ? to_floats(dot) * scale : fma(to_floats(dot), scale, parts[t]);
    if constexpr (F::MINS && in_share > 1) parts[t] = fma(to_floats(broadcast(x[t].sums16 + 4 * at + b)), minus_min, parts[t]);
    if constexpr ((b + 1) % in_share == 0) sums[t] = fma(parts[t], set(x[t].scales[share]), sums[t]);
    if constexpr (F::MINS && in_share == 1) sums[t] = fma(set(x[t].minus_sums[share]), minus_min, sums[t]);
  });
}

// sums[group][t] += products of a tile; `at`: index of the tile's first span in x.
template <class F, int TT>
inline void add_tile(const uint8_t* tile, const QuantisedRow (&x)[TT], int64_t at, Floats (&sums)[GROUPS][TT]) {
  repeat<F::SPANS>([&](auto s) {
    const Span<TT> span(x, at + s.value);
    for (int group = 0; group < GROUPS; group++) {
      const F rows(tile, group * LANES);
      Floats parts[TT];
      repeat<SPAN / F::BLOCK>([&](auto b) { add_block<F, TT, s.value, b.value>(rows, x, span, at + s.value, parts, sums[group]); });
    }
  });
}

// Rows [t, t + TT) of x with one row of tiles, i.e. columns n, n + 1, … of y. Flattened: calls left by g++ would pass
// registers through memory.
template <class F, int TT>
[[gnu::flatten, gnu::noinline]] void multiply_rows(const PackedGemm& g, const uint8_t* tiles, int64_t t, int64_t n) {
  QuantisedRow x[TT];
  for (int i = 0; i < TT; i++) x[i] = quantised_row(g.x + (t + i) * quantised_row_bytes(g.K), g.K);
  Floats sums[GROUPS][TT];
  for (auto& group : sums)
    for (Floats& sum : group) sum = set(0);
  for (int64_t at = 0; at < spans_of(g.K); at += F::SPANS, tiles += sizeof(typename F::Tile))
    add_tile<F, TT>(tiles, x, at, sums);

  for (int group = 0; group < GROUPS && n + group * LANES < g.N; group++) {
    const int64_t first = n + group * LANES, left = g.N - first < LANES ? g.N - first : LANES;
    const Floats bias = g.bias ? load(g.bias + first, left) : set(0);
    for (int i = 0; i < TT; i++) {
      const Floats sum = g.bias ? sums[group][i] + bias : sums[group][i];
      store(g.y + (t + i) * g.ldy + first, sum, left);
    }
  }
}

template <class F>
inline void packed_gemm(const PackedGemm& g) {
  const int64_t tile_row_bytes = (spans_of(g.K) + F::SPANS - 1) / F::SPANS * int64_t(sizeof(typename F::Tile));
  for (int64_t n = 0; n < g.N; n += PACKED_ROWS) {
    const uint8_t* tiles = g.w + n / PACKED_ROWS * tile_row_bytes;
    int64_t t = 0;
    for (; t + 8 <= g.T; t += 8) multiply_rows<F, 8>(g, tiles, t, n);
    for (; t + 4 <= g.T; t += 4) multiply_rows<F, 4>(g, tiles, t, n);
    for (; t + 2 <= g.T; t += 2) multiply_rows<F, 2>(g, tiles, t, n);
    for (; t < g.T; t++) multiply_rows<F, 1>(g, tiles, t, n);
  }
}

} // namespace

#define QUERN_UNPACKED(name, NAME, block, block_bytes)
#define QUERN_PACKED(name, NAME, block, block_bytes) \
  void packed_gemm_##name(const PackedGemm& g) { packed_gemm<NAME>(g); }
#include "../generated/formats.inc"

} // namespace quern::QUERN_ISA
