// Floats as sums of two bf16, high + low: |x - high - low| ≤ 2⁻¹⁷ |x|. Products of sums, without low · low, are that exact.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// NaNs with the bits that survive `rounded`.
inline Floats quiet(Floats x) { return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), set(__builtin_nanf(""))); }

// Upper 16 bits: the nearest bf16, ties away from zero. A NaN may become zero, a quiet one does not.
inline __m512i rounded(Floats x) { return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000)); }
inline Floats upper(__m512i x) { return _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(int32_t(0xffff0000)))); }

// Lane i: the upper 16 bits of first[i], then of second[i].
inline __m512i pack(__m512i first, __m512i second) {
  constexpr int a_or_b_and_c = 0xf8;
  return _mm512_ternarylogic_epi32(_mm512_srli_epi32(first, 16), second, _mm512_set1_epi32(int32_t(0xffff0000)), a_or_b_and_c);
}

// Both parts of two registers. Lane i: element i of the first register, then element i of the second.
struct Halves {
  __m512i high, low;
  Floats rest[2]; // x - high

  Halves(Floats first, Floats second) {
    const __m512i a = rounded(first), b = rounded(second);
    high = pack(a, b);
    rest[0] = first - upper(a), rest[1] = second - upper(b);
    low = pack(rounded(rest[0]), rounded(rest[1]));
  }
  // NaN in a lane if an element is not finite, or too large for bf16; otherwise `sum`.
  Floats check(Floats sum) const { return fma(rest[1], set(0), fma(rest[0], set(0), sum)); }
};

} // namespace
} // namespace quern::QUERN_ISA
