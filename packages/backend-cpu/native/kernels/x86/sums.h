// The sum of a register. Included by vector.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

inline float sum(Floats x) {
  const __m128 four = quarter_sums(x);
  const __m128 two = four + _mm_movehl_ps(four, four); // x0+x2 x1+x3
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

// p[i] = sum of register i, i < 4, in the addition order of sum(): both functions give the same bits.
inline void store_sums(float* p, Floats a, Floats b, Floats c, Floats d) {
  const __m128 qa = quarter_sums(a), qb = quarter_sums(b), qc = quarter_sums(c), qd = quarter_sums(d);
  const __m128 ab = _mm_unpacklo_ps(qa, qb) + _mm_unpackhi_ps(qa, qb); // a0+a2 b0+b2 a1+a3 b1+b3
  const __m128 cd = _mm_unpacklo_ps(qc, qd) + _mm_unpackhi_ps(qc, qd);
  _mm_storeu_ps(p, _mm_movelh_ps(ab, cd) + _mm_movehl_ps(cd, ab));
}

} // namespace
} // namespace quern::QUERN_ISA
