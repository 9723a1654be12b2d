// Scores of int8 keys, eight at a time.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Four rows of bytes to registers [4 rows][16 bytes]: register n has the rows' bytes 16n to 16n + 15.
inline void transpose_quarters(const Bytes (&rows)[4], Bytes* quarters) {
  const Bytes ab = _mm512_shuffle_i32x4(rows[0], rows[1], 0x44), AB = _mm512_shuffle_i32x4(rows[0], rows[1], 0xee);
  const Bytes cd = _mm512_shuffle_i32x4(rows[2], rows[3], 0x44), CD = _mm512_shuffle_i32x4(rows[2], rows[3], 0xee);
  quarters[0] = _mm512_shuffle_i32x4(ab, cd, 0x88), quarters[1] = _mm512_shuffle_i32x4(ab, cd, 0xdd);
  quarters[2] = _mm512_shuffle_i32x4(AB, CD, 0x88), quarters[3] = _mm512_shuffle_i32x4(AB, CD, 0xdd);
}

// The sums of the quarters of a, then of b.
inline __m256 quarter_totals(Floats a, Floats b) {
  const Floats pairs = _mm512_shuffle_ps(a, b, 0x88) + _mm512_shuffle_ps(a, b, 0xdd); // a0+a1 a2+a3 b0+b1 b2+b3
  const Floats totals = pairs + swap_pairs(pairs);
  return _mm512_castps512_ps256(_mm512_permutexvar_ps(_mm512_setr_epi32(0, 4, 8, 12, 2, 6, 10, 14, 0, 0, 0, 0, 0, 0, 0, 0), totals));
}

// Adds 64 elements of q_r · k_j, j < 8, digit by digit, to sums[r][digit][j / 4], which have four lanes for each key.
template <int RR>
inline void add_dots(const QueryDigits* q, int64_t at, const int8_t* k, const int64_t* rows, __mmask64 mask, __v16si (&sums)[RR * DIGITS][2]) {
  Bytes quarters[2][4];
#pragma GCC unroll 2
  for (int half = 0; half < 2; half++) {
    Bytes keys[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) keys[i] = add_128(_mm512_maskz_loadu_epi8(mask, k + rows[4 * half + i] + at));
    transpose_quarters(keys, quarters[half]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < RR * DIGITS; i++)
#pragma GCC unroll 4
    for (int n = 0; n < 4; n++) {
      const Bytes digits = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)(q[i / DIGITS].digits[i % DIGITS] + at + 16 * n)));
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) sums[i][half] = (__v16si)_mm512_dpbusd_epi32((Ints)sums[i][half], quarters[half][n], digits);
    }
}

// scores[r][j] = q_r · k_j for RR queries.
template <int RR>
inline void score_bytes(const Attend& a, const QueryDigits* q, const int8_t* k, const Keys& keys, Range some, const Scales& scales,
                        float* scores, Ahead<int8_t>& ahead, int64_t share) {
  for (int32_t j = some.from; j < some.to; j += 8) {
    ahead.fetch(share);
    __v16si sums[RR * DIGITS][2]; // as __m512i, g++ 12 would keep them in memory
    for (int i = 0; i < RR * DIGITS; i++)
      for (int half = 0; half < 2; half++) sums[i][half] = (__v16si)q[i / DIGITS].start_of(i % DIGITS);
    for (int32_t at = 0; at < a.head_dim; at += BYTES)
      add_dots<RR>(q, at, k, keys.rows + j, bytes_from(at, a.head_dim), sums);

    const __mmask8 some_of_eight = __mmask8(first(smaller(8, some.to - j)));
    const __m256 scale = _mm256_maskz_loadu_ps(some_of_eight, scales.of + j - some.from);
#pragma GCC unroll 2
    for (int r = 0; r < RR; r++) {
      Floats units[2];
#pragma GCC unroll 2
      for (int half = 0; half < 2; half++) units[half] = in_units(sums[r * DIGITS][half], sums[r * DIGITS + 1][half], sums[r * DIGITS + 2][half]);
      const __m256 dots = quarter_totals(units[0], units[1]);
      _mm256_mask_storeu_ps(scores + r * ATTEND_KEYS + j, some_of_eight, dots * (scale * _mm256_set1_ps(q[r].step)));
    }
  }
}

inline void score_some(const Attend& a, const Queries& s, const QueryDigits* q, const int8_t* k, const Keys& keys, Range some, Ahead<int8_t>& ahead) {
  const Scales scales(k, keys, some, s.d);
  const int64_t share = fair_share<int8_t>(a, 8, (s.count + 1) / 2);
  int32_t r = 0;
  for (; r + 2 <= s.count; r += 2) score_bytes<2>(a, q + r, k, keys, some, scales, s.rest + r * ATTEND_KEYS, ahead, share);
  if (r < s.count) score_bytes<1>(a, q + r, k, keys, some, scales, s.rest + r * ATTEND_KEYS, ahead, share);
}

} // namespace
} // namespace quern::QUERN_ISA
