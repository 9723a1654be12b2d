// Registers of bf16 pairs.
#pragma once
#include <string.h>

#include "../../simd/inline.h"

namespace quern::QUERN_ISA {
namespace {

using Pairs = __m512bh; // two bf16 in each lane

constexpr int64_t PAIR_WORDS = 2 * LANES;

inline Pairs load_pairs(const uint16_t* p) { return Pairs(_mm512_loadu_si512(p)); }
inline void store_pairs(uint16_t* p, Pairs x) { _mm512_storeu_si512(p, __m512i(x)); }
inline Pairs every_lane(const uint16_t* pair) {
  int32_t bits;
  memcpy(&bits, pair, sizeof bits);
  return Pairs(_mm512_set1_epi32(bits));
}
// sum + products of pairs, in place. Assembly: with the intrinsic, g++ 12 copies the sums between registers.
QUERN_INLINE void add_pair_products(Floats& sum, Pairs a, Pairs b) {
#if defined(QUERN_EMULATE_AVX512)
  sum = _mm512_dpbf16_ps(sum, a, b);
#else
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(__m512i(a)), "v"(__m512i(b))); // clang 16 takes no __m512bh here
#endif
}
// Lane i: element i of `even`, then element i of `odd`.
inline Pairs interleave(Floats even, Floats odd) {
  alignas(64) static constexpr uint16_t order[PAIR_WORDS] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                             8,  24, 9,  25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return Pairs(_mm512_permutexvar_epi16(_mm512_load_si512(order), __m512i(_mm512_cvtne2ps_pbh(odd, even))));
}

// Loads LANES floats from p, of which n exist; the others are zero.
inline Floats load_first(const float* p, int64_t n) { return n >= LANES ? load(p) : n <= 0 ? set(0) : load(p, n); }

inline int64_t pairs_of(int64_t n) { return (n + 1) / 2; }

// n floats → bf16, zero-padded to a whole register; `to` may be `from`.
inline void round_row(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += PAIR_WORDS) {
    const Floats low = load_first(from + i, n - i), high = load_first(from + i + LANES, n - i - LANES);
    const int64_t words = n - i < PAIR_WORDS ? 2 * pairs_of(n - i) : PAIR_WORDS;
    _mm512_mask_storeu_epi16(to + i, __mmask32((uint64_t(1) << words) - 1), __m512i(_mm512_cvtne2ps_pbh(high, low)));
  }
}

} // namespace
} // namespace quern::QUERN_ISA
