// Registers of pairs of bf16, and sums of products of such pairs: for attention.
#pragma once
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"

namespace quern::QUERN_ISA {
namespace {

using Pairs = __m512bh; // two bf16 in each lane

constexpr int64_t PAIR_WORDS = 2 * LANES;
constexpr int64_t BLOCK_PAIRS = ATTEND_KEYS / 2;

inline Pairs load_pairs(const uint16_t* p) { return Pairs(_mm512_loadu_si512(p)); }
inline void store_pairs(uint16_t* p, Pairs x) { _mm512_storeu_si512(p, __m512i(x)); }
inline Pairs every_lane(const uint16_t* pair) {
  int32_t bits;
  memcpy(&bits, pair, sizeof bits);
  return Pairs(_mm512_set1_epi32(bits));
}
// Lane i: the i-th of `even`, then the i-th of `odd`.
inline Pairs interleave(Floats even, Floats odd) {
  alignas(64) static constexpr uint16_t order[PAIR_WORDS] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                             8,  24, 9,  25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return Pairs(_mm512_permutexvar_epi16(_mm512_load_si512(order), __m512i(_mm512_cvtne2ps_pbh(odd, even))));
}

// LANES floats from p on, of which n are there; zeros beyond.
inline Floats load_first(const float* p, int64_t n) { return n >= LANES ? load(p) : n <= 0 ? set(0) : load(p, n); }

inline int64_t pairs_of(int64_t n) { return (n + 1) / 2; }

// n floats to bf16 where they are, and zeros to the end of the last register: `to` may be `from`.
inline void round_row(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += PAIR_WORDS) {
    const Floats low = load_first(from + i, n - i), high = load_first(from + i + LANES, n - i - LANES);
    const int64_t words = n - i < PAIR_WORDS ? 2 * pairs_of(n - i) : PAIR_WORDS;
    _mm512_mask_storeu_epi16(to + i, __mmask32((uint64_t(1) << words) - 1), __m512i(_mm512_cvtne2ps_pbh(high, low)));
  }
}

// sums[r][c] += Σ a[r][i] · column(i, c) over pairs i in [0, pairs); rows of a are lda words apart.
template <int RR, int CC, class F>
inline void add_products(const uint16_t* a, int64_t lda, int64_t pairs, F column, Floats (&sums)[RR][CC]) {
  for (int64_t i = 0; i < pairs; i++) {
    Pairs columns[CC];
#pragma GCC unroll 4
    for (int c = 0; c < CC; c++) columns[c] = column(i, c);
#pragma GCC unroll 6
    for (int r = 0; r < RR; r++) {
      const Pairs pair = every_lane(a + r * lda + 2 * i);
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], pair, columns[c]);
    }
  }
}

// Calls body<columns>(first) for 4, 2 or 1 columns at a time.
template <class F>
inline void each_column(int64_t columns, F body) {
  int64_t at = 0;
  for (; at + 4 <= columns; at += 4) body.template operator()<4>(at);
  for (; at + 2 <= columns; at += 2) body.template operator()<2>(at);
  if (at < columns) body.template operator()<1>(at);
}

// y_r = shrink_r · y_r + Σ weights[r][j] · v_j over pairs j of keys of a block, for RR queries from r on. Rows of weights are
// those of scores, as bf16; value(j, c) is register c of both keys of pair j.
template <int RR, class F>
inline void add_pairs(const Queries& s, int32_t r, const float* weights, Range pairs, F value) {
  if (pairs.empty()) return;
  each_column(s.width / LANES, [&]<int CC>(int64_t at) {
    Floats sums[RR][CC];
    float* const y = s.y + r * s.width + at * LANES;
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[i][c] = load(y + i * s.width + c * LANES) * set(s.shrink[r + i]);
    add_products(reinterpret_cast<const uint16_t*>(weights) + 2 * pairs.from, 2 * ATTEND_KEYS, pairs.to - pairs.from,
                 [&](int64_t j, int c) { return value(pairs.from + j, at + c); }, sums);
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) store(y + i * s.width + c * LANES, sums[i][c]);
  });
  for (int i = 0; i < RR; i++) s.shrink[r + i] = 1;
}

} // namespace
} // namespace quern::QUERN_ISA
