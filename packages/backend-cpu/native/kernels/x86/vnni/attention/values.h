// Sums of int8 values with weights in front, four keys at a time.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr float MOST_UNITS = 0xffff00; // of a weight: below 2^24 however it is rounded

// The weights of one query times the scales of the values, in digits from 0 to 255.
struct WeightDigits {
  uint8_t digits[DIGITS][BYTE_TURN]; // zeros for keys that the query does not see
  float step;                        // NaN where a weight or a scale is not finite
};

// Those of keys [from, from + BYTE_TURN) of the block, of which the query sees `seen`.
inline void cut_weights(const float* weights, const Scales& scales, int32_t from, Range seen, WeightDigits& to) {
  Floats products[BYTE_TURN / LANES];
  Ints top = no_ints();
  for (int i = 0; i < BYTE_TURN / LANES; i++) {
    const int32_t at = from + i * LANES;
    const int32_t begin = larger(0, smaller(LANES, seen.from - at)), end = larger(begin, smaller(LANES, seen.to - at));
    const __mmask16 sees = first(end) & ~first(begin);
    products[i] = _mm512_maskz_loadu_ps(sees, weights + at) * _mm512_maskz_loadu_ps(sees, scales.of + i * LANES);
    top = largest_bits(top, magnitude_bits(products[i]));
  }
  const Unit unit = unit_of(largest(top), MOST_UNITS);
  for (int i = 0; i < BYTE_TURN / LANES; i++) {
    const Floats units = unit.inverse > 0 ? products[i] * set(unit.inverse) : set(0);
    store_digits(_mm512_cvtps_epi32(units), reinterpret_cast<int8_t*>(to.digits[0]) + i * LANES, BYTE_TURN);
  }
  to.step = unit.step;
}

// Four rows of bytes to registers [LANES][4 rows]: register n has, in its quarter l, elements 16l + 4n to 16l + 4n + 3.
inline void interleave(const Bytes (&rows)[4], Bytes (&quads)[4]) {
  const Bytes ab = _mm512_unpacklo_epi8(rows[0], rows[1]), AB = _mm512_unpackhi_epi8(rows[0], rows[1]);
  const Bytes cd = _mm512_unpacklo_epi8(rows[2], rows[3]), CD = _mm512_unpackhi_epi8(rows[2], rows[3]);
  quads[0] = _mm512_unpacklo_epi16(ab, cd), quads[1] = _mm512_unpackhi_epi16(ab, cd);
  quads[2] = _mm512_unpacklo_epi16(AB, CD), quads[3] = _mm512_unpackhi_epi16(AB, CD);
}

// y_r = shrink_r · y_r + Σ_j weight_rj · v_j for RR queries and 64 elements of the head, of which the values have those of the
// mask. Rows of y have their elements in the order of interleave().
template <int RR>
inline void add_byte_values(const WeightDigits* weights, const int8_t* v, const Keys& keys, Range some, __mmask64 mask,
                            const float* shrink, float* y, int64_t width, Ahead<int8_t>& ahead, int64_t share) {
  __v16si sums[RR * DIGITS][4]; // as __m512i, g++ 12 would keep them in memory
  for (int i = 0; i < RR * DIGITS; i++)
    for (int n = 0; n < 4; n++) sums[i][n] = __v16si{};

  for (int32_t j = some.from; j < some.to; j += 4) {
    ahead.fetch(share);
    Bytes rows[4], quads[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) rows[i] = _mm512_maskz_loadu_epi8(mask, v + keys.rows[j + i]);
    interleave(rows, quads);
#pragma GCC unroll 8
    for (int i = 0; i < RR * DIGITS; i++) {
      int32_t four;
      memcpy(&four, weights[i / DIGITS].digits[i % DIGITS] + (j - some.from), sizeof four);
      const Bytes weight = _mm512_set1_epi32(four);
#pragma GCC unroll 4
      for (int n = 0; n < 4; n++) sums[i][n] = (__v16si)_mm512_dpbusd_epi32((Ints)sums[i][n], weight, quads[n]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < RR; r++)
#pragma GCC unroll 4
    for (int n = 0; n < 4; n++) {
      const Floats units = in_units(sums[r * DIGITS][n], sums[r * DIGITS + 1][n], sums[r * DIGITS + 2][n]);
      float* at = y + r * width + n * LANES;
      store(at, fma(units, set(weights[r].step), load(at) * set(shrink[r])));
    }
}

template <int RR>
inline void add_bytes_to(const Attend& a, const Queries& s, int32_t r, const Scales& scales, const int8_t* v, const Keys& keys, Range some,
                         Ahead<int8_t>& ahead, int64_t share) {
  WeightDigits weights[RR];
  for (int i = 0; i < RR; i++) {
    const Range sees = seen(a, keys, r + i);
    cut_weights(s.rest + (r + i) * ATTEND_KEYS, scales, some.from, {larger(some.from, sees.from), smaller(some.to, sees.to)}, weights[i]);
  }
  for (int32_t at = 0; at < s.d; at += BYTES) {
    add_byte_values<RR>(weights, v + at, keys, some, bytes_from(at, s.d), s.shrink + r, s.y + r * s.width + at, s.width, ahead, share);
  }
  for (int i = 0; i < RR; i++) s.shrink[r + i] = 1;
}

inline void add_some_values(const Attend& a, const Queries& s, const int8_t* v, const Keys& keys, Range some, Ahead<int8_t>& ahead) {
  const Scales scales(v, keys, some, s.d);
  const int64_t share = fair_share<int8_t>(a, 4, (s.count + 1) / 2 * (s.width / BYTES));
  int32_t r = 0;
  for (; r + 2 <= s.count; r += 2) add_bytes_to<2>(a, s, r, scales, v, keys, some, ahead, share);
  if (r < s.count) add_bytes_to<1>(a, s, r, scales, v, keys, some, ahead, share);
}

// Rows of y back in the order of the head.
inline void restore_order(const Queries& s) {
  for (float* y = s.y; y < s.y + s.count * s.width; y += BYTES) {
    Floats quads[4];
    for (int n = 0; n < 4; n++) quads[n] = load(y + n * LANES);
    for (int n = 0; n < 4; n++)
      for (int l = 0; l < 4; l++) {
        float four[LANES];
        store(four, quads[n]);
        memcpy(y + 16 * l + 4 * n, four + 4 * l, 4 * sizeof(float));
      }
  }
}

} // namespace
} // namespace quern::QUERN_ISA
