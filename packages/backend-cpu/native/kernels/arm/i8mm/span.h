// A span of TT rows of x, and the dot products of a block with each row: SMMLA multiplies two rows of x with two rows of w,
// eight values at a time. A single row uses SDOT.
#pragma once
#include "../../packed/tiles.h"
#include "../dotprod/row-dots.h"

namespace quern::QUERN_ISA {
namespace {

template <int TT>
struct Span {
  Span(const QuantisedRow (&x)[TT], int64_t at) {
    for (int p = 0; p < TT / 2; p++)
      for (int i = 0; i < SPAN / 8; i += 2) {
        const int64x2_t a = load_two(x[2 * p].values + at * SPAN + 8 * i), b = load_two(x[2 * p + 1].values + at * SPAN + 8 * i);
        pairs[p][i] = vreinterpretq_s8_s64(vzip1q_s64(a, b));
        pairs[p][i + 1] = vreinterpretq_s8_s64(vzip2q_s64(a, b));
      }
  }
  static int64x2_t load_two(const int8_t* octets) { return vreinterpretq_s64_s8(vld1q_s8(octets)); }

  int8x16_t pairs[TT / 2][SPAN / 8]; // eight values of row 2p, then of row 2p + 1
};

template <>
struct Span<1> {
  Span(const QuantisedRow (&x)[1], int64_t at) : row(x[0].values + at * SPAN) {}
  const int8_t* row;
};

template <int LARGEST, int COUNT, class F>
inline void dots(const Bytes (&quads)[COUNT], const Span<1>& x, int k, F f) {
  f(0, row_dots<LARGEST>(quads, x.row + k));
}

// f(t, dots) for each t: COUNT quads of four rows of w with row t of x, from value k on.
template <int LARGEST, int COUNT, int TT, class F>
inline void dots(const Bytes (&quads)[COUNT], const Span<TT>& x, int k, F f) {
  int8x16_t low[COUNT / 2], high[COUNT / 2]; // eight values of rows 0 and 1, and of rows 2 and 3
#pragma GCC unroll 4
  for (int i = 0; i < COUNT / 2; i++) {
    const int32x4_t a = vreinterpretq_s32_u8(quads[2 * i]), b = vreinterpretq_s32_u8(quads[2 * i + 1]);
    low[i] = vreinterpretq_s8_s32(vzip1q_s32(a, b));
    high[i] = vreinterpretq_s8_s32(vzip2q_s32(a, b));
  }
#pragma GCC unroll 4
  for (int p = 0; p < TT / 2; p++) {
    Ints lows = no_ints(), highs = no_ints(); // [2, 2]: rows of x, rows of w
#pragma GCC unroll 4
    for (int i = 0; i < COUNT / 2; i++) {
      lows = vmmlaq_s32(lows, x.pairs[p][k / 8 + i], low[i]);
      highs = vmmlaq_s32(highs, x.pairs[p][k / 8 + i], high[i]);
    }
    const int64x2_t a = vreinterpretq_s64_s32(lows), b = vreinterpretq_s64_s32(highs);
    f(2 * p, vreinterpretq_s32_s64(vzip1q_s64(a, b)));
    f(2 * p + 1, vreinterpretq_s32_s64(vzip2q_s64(a, b)));
  }
}

} // namespace
} // namespace quern::QUERN_ISA
