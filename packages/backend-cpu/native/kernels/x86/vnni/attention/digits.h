// Floats as whole numbers of three digits to base 256, which dpbusd multiplies with the bytes of an int8 cache: 24 bits, as many
// as a float has, of the largest of a vector. Sums of such products are exact, so their order does not matter.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int DIGITS = 3, BYTES = 64; // digits from the highest down; bytes of a register
constexpr float LEAST = 1e-30f; // a vector without larger elements is taken in units of this one's

// A query vector, digits from −128 to 127. The bytes of the cache are signed too and get 128 added, which `start` takes away
// again from sums that have four lanes for a key, element i in lane i / 4 % 4.
struct QueryDigits {
  int8_t digits[DIGITS][MOST_BYTES]; // zeros beyond d
  int32_t start[DIGITS][4];
  float step;                        // what a unit of the last digit is worth; NaN where an element is not finite

  Ints start_of(int digit) const { return _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)start[digit])); }
};
constexpr int64_t QUERY_DIGITS = sizeof(QueryDigits) / sizeof(float);
static_assert(QUERY_DIGITS == ATTEND_DIGITS);

// The units of a vector of which the largest magnitude has these bits, if it is to become `most` units.
struct Unit {
  float step, inverse;
};
inline Unit unit_of(uint32_t largest_bits, float most) {
  float top;
  memcpy(&top, &largest_bits, sizeof top);
  if (largest_bits >= 0x7f800000) return {__builtin_nanf(""), 0};
  top = top > LEAST ? top : LEAST;
  return {top / most, most / top};
}

inline void store_digits(Ints numbers, int8_t* digits, int64_t stride) {
  _mm_storeu_si128((__m128i*)digits, _mm512_cvtepi32_epi8(_mm512_srli_epi32(numbers, 16)));
  _mm_storeu_si128((__m128i*)(digits + stride), _mm512_cvtepi32_epi8(_mm512_srli_epi32(numbers, 8)));
  _mm_storeu_si128((__m128i*)(digits + 2 * stride), _mm512_cvtepi32_epi8(numbers));
}

inline Bytes load_bytes(const int8_t* p) { return _mm512_loadu_si512(p); }
// Of those from `at` on, the first 64 of d.
inline __mmask64 bytes_from(int32_t at, int32_t d) { return ~uint64_t{0} >> (BYTES - smaller(BYTES, d - at)); }
inline Bytes add_128(Bytes x) { return _mm512_xor_si512(x, every_byte(-128)); } // signed to unsigned, and back

// Sums digit by digit to those of the numbers.
inline Floats in_units(__v16si high, __v16si middle, __v16si low) {
  const Ints rest = _mm512_add_epi32(times_power_of_2<8>((Ints)middle), (Ints)low);
  return fma(to_floats((Ints)high), set(65536), to_floats(rest));
}

inline void cut_query(const float* q, int32_t d, QueryDigits& to) {
  Ints top = no_ints();
  each(d, [&](int64_t i, auto... n) { top = largest_bits(top, magnitude_bits(load(q + i, n...))); });
  const Unit unit = unit_of(largest(top), 127 << 16);
  const Ints centre = _mm512_set1_epi32(0x808080); // digits above 0, until add_128
  for (int32_t i = 0; i < MOST_BYTES; i += LANES) {
    const Floats x = i + LANES <= d ? load(q + i) : load(q + i, d > i ? d - i : 0);
    const Floats units = unit.inverse > 0 ? x * set(unit.inverse) : set(0);
    store_digits(_mm512_add_epi32(_mm512_cvtps_epi32(units), centre), to.digits[0] + i, MOST_BYTES);
  }
  for (int k = 0; k < DIGITS; k++) {
    Ints sums = no_ints();
    for (int32_t i = 0; i < MOST_BYTES; i += BYTES) {
      const Bytes digits = add_128(load_bytes(to.digits[k] + i));
      _mm512_storeu_si512(to.digits[k] + i, digits);
      sums = _mm512_dpbusd_epi32(sums, every_byte(-128), digits);
    }
    const __m256i halves = _mm256_add_epi32(_mm512_castsi512_si256(sums), _mm512_extracti32x8_epi32(sums, 1));
    const __m128i quarters = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    _mm_storeu_si128((__m128i*)to.start[k], _mm_sub_epi32(_mm_setzero_si128(), quarters));
  }
  to.step = unit.step;
}

} // namespace
} // namespace quern::QUERN_ISA
