// simd/many-rows.h without VNNI: the sums of four rows of x and two registers of columns lie in registers, the weights in L1.
// A load from memory then serves two or four products.
#pragma once
#include "../../simd/many-rows.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t MANY_ROWS = 5; // rows of x from which this is faster than few_rows
constexpr int64_t ROWS_OF_STEP = 4;

template <class F>
QUERN_INLINE Bytes unsigned_weights(Bytes q) { return q; }

// R rows of x, row_bytes apart, with J · 8 columns.
template <class F, int R, int J>
struct Step {
  static constexpr int BLOCKS = Unpacked<F, J>::BLOCKS, QUADS_OF_BLOCK = F::BLOCK / 4;
  static constexpr int FIT = 32767 / (2 * F::MAX * 127), TOGETHER = FIT < QUADS_OF_BLOCK ? FIT : QUADS_OF_BLOCK; // as in dots.h
  static_assert(QUADS_OF_BLOCK % TOGETHER == 0);

  const Unpacked<F, J>& w;
  const XRow (&x)[R];

  // Products of TOGETHER quads, from `first` on, in 16 bits.
  QUERN_INLINE void pair_sums(int first, Bytes (&pairs)[R][J]) const {
#pragma GCC unroll 8
    for (int i = first; i < first + TOGETHER; i++)
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) {
        const Bytes quad = broadcast_quad(x[r].values + 4 * i);
#pragma GCC unroll 2
        for (int j = 0; j < J; j++) {
          const Bytes more = _mm256_maddubs_epi16(w.quads[j][i], quad);
          pairs[r][j] = i == first ? more : _mm256_add_epi16(pairs[r][j], more);
          keep_order(pairs[r][j]);
        }
      }
  }

  // Integer dot products of block b, without the format's offset.
  QUERN_INLINE void dots_of_block(int b, Ints (&dots)[R][J]) const {
#pragma GCC unroll 8
    for (int i = 0; i < QUADS_OF_BLOCK; i += TOGETHER) {
      Bytes pairs[R][J];
      pair_sums(b * QUADS_OF_BLOCK + i, pairs);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int j = 0; j < J; j++) dots[r][j] = i == 0 ? widen(pairs[r][j]) : _mm256_add_epi32(dots[r][j], widen(pairs[r][j]));
    }
  }

  // parts += dots · scales of block b.
  QUERN_INLINE void add_block(int b, Floats (&parts)[R][J]) const {
    Ints dots[R][J];
    dots_of_block(b, dots);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
      const int32_t* negative_sum = BLOCKS == 1 ? x[r].sum32 : x[r].sums16 + b;
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) {
        if constexpr (F::OFFSET != NONE) dots[r][j] = _mm256_add_epi32(dots[r][j], times_power_of_2<F::OFFSET>(broadcast(negative_sum)));
        const Floats dot = to_floats(dots[r][j]);
        parts[r][j] = b == 0 ? dot * w.scales[j][b] : fma(dot, w.scales[j][b], parts[r][j]);
        if constexpr (F::MINS && BLOCKS > 1) parts[r][j] = fma(to_floats(broadcast(negative_sum)), w.minus_mins[j][b], parts[r][j]);
      }
    }
  }

  QUERN_INLINE void multiply(Totals totals) const {
    Floats parts[R][J];
#pragma GCC unroll 2
    for (int b = 0; b < BLOCKS; b++) add_block(b, parts);
#pragma GCC unroll 4
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) {
        float* const total = totals[r] + j * LANES;
        Floats sum = fma(parts[r][j], set(*x[r].scale), load(total));
        if constexpr (F::MINS && BLOCKS == 1) sum = fma(set(*x[r].minus_sum), w.minus_mins[j][0], sum);
        store(total, sum);
      }
  }
};

template <int R, class F, int J>
QUERN_INLINE void multiply_step(const Unpacked<F, J>& w, XRow x, int64_t row_bytes, Totals totals) {
  XRow rows[R];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++, x.advance(row_bytes)) rows[r] = x;
  Step<F, R, J>{w, rows}.multiply(totals);
}

template <class F, int J>
[[gnu::noinline]] void multiply_share(const Unpacked<F, J>& w, XRow x, int64_t row_bytes, int64_t rows, Totals totals) {
  int64_t t = 0;
  for (; t + ROWS_OF_STEP <= rows; t += ROWS_OF_STEP, x.advance(ROWS_OF_STEP * row_bytes))
    multiply_step<ROWS_OF_STEP>(w, x, row_bytes, totals + t);
  for (; t < rows; t++, x.advance(row_bytes)) multiply_step<1>(w, x, row_bytes, totals + t);
}

} // namespace
} // namespace quern::QUERN_ISA
