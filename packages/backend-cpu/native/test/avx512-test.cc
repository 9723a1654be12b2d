// The AVX-512 intrinsics of the kernels against plain definitions, lane by lane, after the Intel SDM, volume 2. Compiled twice:
// with QUERN_EMULATE_AVX512 for the models of emulated-avx512.h, without for the instructions of this machine.
#include <immintrin.h>
#if defined(QUERN_EMULATE_AVX512)
#include "kernels/x86/emulated-avx512.h"
#endif
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <map>
#include <string>

namespace {

struct Count {
  long checks = 0, failed = 0;
};
std::map<std::string, Count> counts;

void report(const char* name, bool ok, int lane, double got, double want) {
  Count& count = counts[name];
  count.checks++;
  if (!ok && count.failed++ < 3) printf("  %s, lane %d: got %.9g, want %.9g\n", name, lane, got, want);
}

bool same(double a, double b) { return a == b && signbit(a) == signbit(b); }

// Bits of a register, as lanes of each type.
union alignas(64) Lanes {
  uint8_t u8[64];
  int8_t i8[64];
  uint16_t u16[32];
  int16_t i16[32];
  uint32_t u32[16];
  int32_t i32[16];
  float f32[16];
  double f64[8];
};

// Lane i of `got` is want(i), of type E; NaNs have no payload.
template <class E, class V, class F>
void lanes(const char* name, V got, F want) {
  E all[sizeof(V) / sizeof(E)];
  memcpy(all, &got, sizeof got);
  for (int i = 0; i < int(sizeof(V) / sizeof(E)); i++) {
    const E right = E(want(i));
    report(name, same(double(all[i]), double(right)) || (all[i] != all[i] && right != right), i, double(all[i]), double(right));
  }
}
template <class F>
void mask(const char* name, uint64_t got, int count, F want) {
  for (int i = 0; i < 64; i++) report(name, (got >> i & 1) == (i < count && want(i)), i, double(got >> i & 1), i < count && want(i));
}
#define LANES(E, expression, want) lanes<E>(#expression, expression, [&](int i) { return want; })
#define MASK(expression, count, want) mask(#expression, expression, count, [&](int i) { return want; })

// xorshift64* (Marsaglia 2003).
uint32_t next() {
  static uint64_t state = 0x9e3779b97f4a7c15;
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  return uint32_t((state * 0x2545f4914f6cdd1d) >> 32);
}

float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
uint32_t to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Ties, zeros, denormals, limits of f16, int8 and int32, infinities, NaNs.
const float special[] = {0,       0.5f,    1,       1.5f,     2.5f,      3.5f,      127.5f,    128.5f,     65504,     65519.9f, 65520,
                         65536,   1e-8f,   6e-8f,   0x1p-14f, 0x1p-15f,  0x1p-24f,  0x1p-25f,  0x1.8p-25f, 0x1p-126f, 0x1p-149f,
                         0x1p31f, 0x1p30f, 0x1p23f, 1e30f,    INFINITY,  NAN,       0x1.01p0f, 0x1.03p0f,  0x1.fp127f, 149,     700};
float number() {
  const uint32_t kind = next() % 4, sign = next() & 0x80000000;
  if (kind == 0) return from_bits(next());
  if (kind == 1) return from_bits(to_bits(special[next() % (sizeof special / sizeof *special)]) ^ sign);
  return (float(next() >> 8) * 0x1p-23f - 1) * (kind == 2 ? 1 : 100);
}
Lanes numbers() {
  Lanes x;
  for (float& value : x.f32) value = number();
  return x;
}
Lanes bits() {
  Lanes x;
  for (uint32_t& word : x.u32) word = next();
  if (next() % 4 == 0) x.u32[next() % 16] = 0x80008000; // the sum of products that wraps
  return x;
}

double half_value(uint16_t h) {
  const int exponent = h >> 10 & 31, fraction = h & 1023;
  const double sign = h >> 15 ? -1 : 1;
  if (exponent == 31) return fraction ? NAN : sign * INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

// Nearest, ties to even: `digits` bits of fraction, exponents from `least` on, and from `most` on infinity.
uint16_t narrow(float x, int digits, int least, int most) {
  const uint16_t sign = uint16_t(signbit(x) << 15), infinity = uint16_t((most + 1 - least) << digits);
  if (x == 0) return sign;
  if (isinf(x)) return sign | infinity;
  const int exponent = ilogb(x) < least ? least : ilogb(x);
  const uint32_t value = (uint32_t(exponent - least) << digits) + uint32_t(nearbyint(ldexp(fabs(double(x)), digits - exponent)));
  return sign | uint16_t(value < infinity ? value : infinity);
}
uint16_t to_f16(float x) { return narrow(x, 10, -14, 16); }
bool is_denormal(float x) { return fabsf(x) < 0x1p-126f; }
float flush(float x) { return is_denormal(x) ? copysignf(0, x) : x; }
uint16_t to_bf16(float x) {
  if (x != x) return uint16_t(to_bits(x) >> 16 | 0x40);
  return narrow(flush(x), 7, -126, 128);
}
float from_bf16(uint16_t x) { return from_bits(uint32_t(x) << 16); }
// Exact sum, rounded once.
float add_product(float sum, uint16_t a, uint16_t b) {
  return flush(float(__float128(flush(from_bf16(a))) * flush(from_bf16(b)) + flush(sum)));
}

float scaled(float a, float b) {
  if (a != a) return isinf(b) ? (b > 0 ? INFINITY : 0) : NAN;
  if (b != b || (isinf(b) && (b > 0 ? a == 0 : isinf(a)))) return NAN;
  if (isinf(b)) return copysignf(b > 0 ? INFINITY : 0, a);
  return float(ldexp(double(a), int(fmin(fmax(floor(b), -800), 800))));
}
int32_t to_int(float x) { return fabs(x) < 0x1p31 ? int32_t(nearbyintf(x)) : INT32_MIN; }
int saturate(int64_t x, int bits) {
  const int64_t most = (int64_t(1) << (bits - 1)) - 1;
  return int(x > most ? most : x < -most - 1 ? -most - 1 : x);
}
bool has(uint64_t m, int i) { return m >> i & 1; }
template <int table>
uint32_t ternary(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t y = 0;
  for (int i = 0; i < 32; i++) y |= uint32_t(table >> (4 * (a >> i & 1) + 2 * (b >> i & 1) + (c >> i & 1)) & 1) << i;
  return y;
}

void loads_and_stores() {
  const Lanes a = bits(), r = numbers();
  const uint64_t m = uint64_t(next()) << 32 | next();
  const __mmask16 m16 = __mmask16(m);
  const __m512 R = _mm512_loadu_ps(r.f32);
  LANES(uint32_t, _mm512_loadu_ps(a.f32), a.u32[i]);
  LANES(uint32_t, _mm512_load_ps(a.f32), a.u32[i]);
  LANES(uint32_t, _mm512_loadu_si512(a.u8), a.u32[i]);
  LANES(uint32_t, _mm512_load_si512(a.u8), a.u32[i]);
  LANES(uint32_t, _mm512_maskz_loadu_ps(m16, a.f32), has(m16, i) ? a.u32[i] : 0);
  LANES(uint32_t, _mm512_mask_loadu_ps(R, m16, a.f32), has(m16, i) ? a.u32[i] : r.u32[i]);
  LANES(uint16_t, _mm512_maskz_loadu_epi16(__mmask32(m), a.u16), has(m, i) ? a.u16[i] : 0);
  LANES(uint16_t, _mm256_maskz_loadu_epi16(m16, a.u16), has(m, i) ? a.u16[i] : 0);
  LANES(uint8_t, _mm_maskz_loadu_epi8(m16, a.u8), has(m, i) ? a.u8[i] : 0);
  Lanes to = r;
#define STORED(E, name, statement, want) to = r, statement, lanes<E>(name, to, [&](int i) { return want; })
  STORED(uint32_t, "_mm512_storeu_ps", _mm512_storeu_ps(to.f32, _mm512_loadu_ps(a.f32)), a.u32[i]);
  STORED(uint32_t, "_mm512_store_ps", _mm512_store_ps(to.f32, _mm512_loadu_ps(a.f32)), a.u32[i]);
  STORED(uint32_t, "_mm512_storeu_si512", _mm512_storeu_si512(to.u8, _mm512_loadu_si512(a.u8)), a.u32[i]);
  STORED(uint32_t, "_mm512_store_si512", _mm512_store_si512(to.u8, _mm512_loadu_si512(a.u8)), a.u32[i]);
  STORED(uint32_t, "_mm512_mask_storeu_ps", _mm512_mask_storeu_ps(to.f32, m16, _mm512_loadu_ps(a.f32)), has(m16, i) ? a.u32[i] : r.u32[i]);
  STORED(uint16_t, "_mm512_mask_storeu_epi16", _mm512_mask_storeu_epi16(to.u16, __mmask32(m), _mm512_loadu_si512(a.u8)),
         has(uint32_t(m), i) ? a.u16[i] : r.u16[i]);
  STORED(uint16_t, "_mm256_mask_storeu_epi16", _mm256_mask_storeu_epi16(to.u16, m16, _mm256_loadu_si256((const __m256i*)a.u8)),
         has(m16, i) ? a.u16[i] : r.u16[i]);
}

void every_lane() {
  const Lanes a = bits();
  const int32_t n = a.i32[0];
  const float x = number();
  const __m512i A = _mm512_loadu_si512(a.u8);
  LANES(float, _mm512_set1_ps(x), x);
  LANES(int8_t, _mm512_set1_epi8(char(n)), int8_t(n));
  LANES(int16_t, _mm512_set1_epi16(int16_t(n)), int16_t(n));
  LANES(int32_t, _mm512_set1_epi32(n), n);
  LANES(int32_t, _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, n), i < 15 ? i : n);
  LANES(uint8_t, _mm512_setzero_si512(), 0);
  LANES(uint8_t, _mm512_setzero_pd(), 0);
  LANES(uint32_t, _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)a.u8)), a.u32[i % 4]);
  LANES(uint32_t, _mm512_castps_si512(_mm512_loadu_ps(a.f32)), a.u32[i]);
  LANES(uint32_t, _mm512_castsi512_ps(A), a.u32[i]);
  LANES(uint32_t, _mm512_castps512_ps256(_mm512_loadu_ps(a.f32)), a.u32[i]);
  LANES(uint32_t, _mm512_extractf32x8_ps(_mm512_loadu_ps(a.f32), 1), a.u32[8 + i]);
}

void integers() {
  const Lanes a = bits(), b = bits(), c = bits();
  const __m512i A = _mm512_loadu_si512(a.u8), B = _mm512_loadu_si512(b.u8), C = _mm512_loadu_si512(c.u8);
  const uint64_t m = uint64_t(next()) << 32 | next();
  LANES(uint32_t, _mm512_and_si512(A, B), a.u32[i] & b.u32[i]);
  LANES(uint32_t, _mm512_or_si512(A, B), a.u32[i] | b.u32[i]);
  LANES(uint32_t, _mm512_xor_si512(A, B), a.u32[i] ^ b.u32[i]);
  LANES(uint32_t, _mm512_ternarylogic_epi32(A, B, C, 0xf8), a.u32[i] | (b.u32[i] & c.u32[i]));
  LANES(uint32_t, _mm512_ternarylogic_epi32(A, B, C, 0xca), ternary<0xca>(a.u32[i], b.u32[i], c.u32[i]));
  LANES(uint32_t, _mm512_ternarylogic_epi32(A, B, C, 0x27), ternary<0x27>(a.u32[i], b.u32[i], c.u32[i]));
  LANES(uint16_t, _mm512_add_epi16(A, B), uint16_t(a.u16[i] + b.u16[i]));
  LANES(uint32_t, _mm512_add_epi32(A, B), a.u32[i] + b.u32[i]);
  LANES(uint8_t, _mm512_sub_epi8(A, B), uint8_t(a.u8[i] - b.u8[i]));
  LANES(uint8_t, _mm512_mask_sub_epi8(C, m, A, B), has(m, i) ? uint8_t(a.u8[i] - b.u8[i]) : c.u8[i]);
  LANES(uint16_t, _mm512_mullo_epi16(A, B), uint16_t(int32_t(a.i16[i]) * b.i16[i]));
  LANES(int16_t, _mm512_mulhi_epi16(A, B), int16_t(int32_t(a.i16[i]) * b.i16[i] >> 16));
  LANES(int16_t, _mm512_maddubs_epi16(A, B), saturate(a.u8[2 * i] * b.i8[2 * i] + a.u8[2 * i + 1] * b.i8[2 * i + 1], 16));
  LANES(int32_t, _mm512_madd_epi16(A, B), int32_t(int64_t(a.i16[2 * i]) * b.i16[2 * i] + int64_t(a.i16[2 * i + 1]) * b.i16[2 * i + 1]));
  LANES(uint8_t, _mm512_abs_epi8(A), uint8_t(a.i8[i] < 0 ? -a.i8[i] : a.i8[i]));
  LANES(int8_t, _mm512_min_epi8(A, B), a.i8[i] < b.i8[i] ? a.i8[i] : b.i8[i]);
  LANES(int8_t, _mm512_max_epi8(A, B), a.i8[i] > b.i8[i] ? a.i8[i] : b.i8[i]);
  LANES(uint32_t, _mm512_max_epu32(A, B), a.u32[i] > b.u32[i] ? a.u32[i] : b.u32[i]);
  LANES(uint16_t, _mm512_slli_epi16(A, 3), uint16_t(a.u16[i] << 3));
  LANES(uint16_t, _mm512_srli_epi16(A, 5), a.u16[i] >> 5);
  LANES(int16_t, _mm512_srai_epi16(A, 5), a.i16[i] >> 5);
  LANES(uint32_t, _mm512_slli_epi32(A, 7), a.u32[i] << 7);
  LANES(uint32_t, _mm512_srli_epi32(A, 16), a.u32[i] >> 16);
  LANES(int32_t, _mm512_srai_epi32(A, 9), a.i32[i] >> 9);
  LANES(uint8_t, _mm512_shuffle_epi8(A, B), b.u8[i] & 128 ? 0 : a.u8[i / 16 * 16 + b.u8[i] % 16]);
  LANES(uint16_t, _mm512_permutexvar_epi16(A, B), b.u16[a.u16[i] % 32]);
  LANES(uint8_t, _mm512_mask_blend_epi8(m, A, B), has(m, i) ? b.u8[i] : a.u8[i]);
  LANES(uint16_t, _mm512_mask_blend_epi16(__mmask32(m), A, B), has(m, i) ? b.u16[i] : a.u16[i]);
  LANES(uint32_t, _mm512_mask_blend_epi32(__mmask16(m), A, B), has(m, i) ? b.u32[i] : a.u32[i]);
  MASK(_mm512_movepi8_mask(A), 64, a.i8[i] < 0);
  MASK(_mm512_cmplt_epu32_mask(A, B), 16, a.u32[i] < b.u32[i]);
  uint32_t most = 0;
  for (uint32_t x : a.u32) most = x > most ? x : most;
  LANES(uint32_t, uint32_t(_mm512_reduce_max_epu32(A)), most);
}

void widths() {
  const Lanes a = bits(), b = bits(), c = bits();
  const __m512i A = _mm512_loadu_si512(a.u8), B = _mm512_loadu_si512(b.u8), C = _mm512_loadu_si512(c.u8);
  const __m128i low = _mm_loadu_si128((const __m128i*)a.u8);
  LANES(int32_t, _mm512_cvtepi8_epi32(low), a.i8[i]);
  LANES(int32_t, _mm512_cvtepu8_epi32(low), a.u8[i]);
  LANES(int32_t, _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)a.u8)), a.u16[i]);
  LANES(uint16_t, _mm512_cvtepi32_epi16(A), uint16_t(a.u32[i]));
  LANES(int8_t, _mm512_cvtsepi32_epi8(A), saturate(a.i32[i], 8));
  LANES(int8_t, _mm512_cvtsepi32_epi8(_mm512_srai_epi32(A, 23)), saturate(a.i32[i] >> 23, 8));
  const auto product = [&](int i) { return b.u8[i] * c.i8[i]; };
  LANES(uint32_t, _mm512_dpbusd_epi32(A, B, C), a.u32[i] + uint32_t(product(4 * i) + product(4 * i + 1) + product(4 * i + 2) + product(4 * i + 3)));
}

void arithmetic() {
  const Lanes a = numbers(), b = numbers(), c = numbers();
  const __m512 A = _mm512_loadu_ps(a.f32), B = _mm512_loadu_ps(b.f32), C = _mm512_loadu_ps(c.f32);
  const __mmask16 m = __mmask16(next());
  LANES(float, _mm512_fmadd_ps(A, B, C), fmaf(a.f32[i], b.f32[i], c.f32[i]));
  LANES(float, _mm512_fmaddsub_ps(A, B, C), fmaf(a.f32[i], b.f32[i], i % 2 ? c.f32[i] : -c.f32[i]));
  LANES(double, _mm512_fmadd_pd((__m512d)A, (__m512d)B, (__m512d)C), fma(a.f64[i], b.f64[i], c.f64[i]));
  LANES(float, _mm512_min_ps(A, B), a.f32[i] < b.f32[i] ? a.f32[i] : b.f32[i]);
  LANES(float, _mm512_max_ps(A, B), a.f32[i] > b.f32[i] ? a.f32[i] : b.f32[i]);
  LANES(uint32_t, _mm512_abs_ps(A), a.u32[i] & 0x7fffffff);
  LANES(float, _mm512_roundscale_ps(A, 8), nearbyintf(a.f32[i]));
  LANES(float, _mm512_reduce_ps(A, 8), isinf(a.f32[i]) || a.f32[i] == nearbyintf(a.f32[i]) ? 0 : a.f32[i] - nearbyintf(a.f32[i]));
  LANES(float, _mm512_scalef_ps(A, B), scaled(a.f32[i], b.f32[i]));
  MASK(_mm512_cmp_ps_mask(A, B, _CMP_EQ_OQ), 16, a.f32[i] == b.f32[i]);
  MASK(_mm512_cmp_ps_mask(A, B, _CMP_LT_OQ), 16, a.f32[i] < b.f32[i]);
  MASK(_mm512_cmp_ps_mask(A, B, _CMP_GE_OQ), 16, a.f32[i] >= b.f32[i]);
  MASK(_mm512_cmp_ps_mask(A, B, _CMP_UNORD_Q), 16, a.f32[i] != a.f32[i] || b.f32[i] != b.f32[i]);
  LANES(uint32_t, _mm512_mask_mov_ps(A, m, B), has(m, i) ? b.u32[i] : a.u32[i]);
  LANES(uint32_t, _mm512_mask_blend_ps(m, A, B), has(m, i) ? b.u32[i] : a.u32[i]);
  LANES(float, _mm512_maskz_sub_ps(m, A, B), has(m, i) ? a.f32[i] - b.f32[i] : 0);
  LANES(float, _mm512_maskz_div_ps(m, A, B), has(m, i) ? a.f32[i] / b.f32[i] : 0);
}

void reductions() {
  Lanes a = numbers();
  float most = -INFINITY;
  for (float& x : a.f32) {
    if (x != x || x == 0) x = -1; // of NaN and of zeros the order of operands decides
    most = x > most ? x : most;
  }
  LANES(float, _mm512_reduce_max_ps(_mm512_loadu_ps(a.f32)), most);
  const double* const x = a.f64;
  const double sum = ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
  LANES(double, _mm512_reduce_add_pd((__m512d)_mm512_loadu_ps(a.f32)), sum);
}

void orders() {
  const Lanes a = bits(), b = bits();
  const __m512 A = _mm512_loadu_ps(a.f32), B = _mm512_loadu_ps(b.f32);
  const auto quarter = [](const Lanes& x, int order, int i) { return x.u32[4 * (order >> 2 * (i / 4) & 3) + i % 4]; };
  const auto unpacked = [](auto& x, auto& y, int i, int per, int from) { return (i % 2 ? y : x)[i / per * per + from + i % per / 2]; };
  LANES(uint32_t, _mm512_permutexvar_ps(_mm512_castps_si512(A), B), b.u32[a.u32[i] % 16]);
  LANES(uint32_t, _mm512_permute_ps(A, 0xb1), a.u32[i ^ 1]);
  LANES(uint32_t, _mm512_permute_ps(A, 0x1b), a.u32[i ^ 3]);
  LANES(uint32_t, _mm512_shuffle_f32x4(A, B, 0x88), quarter(i < 8 ? a : b, 0x88, i));
  LANES(uint32_t, _mm512_shuffle_f32x4(A, B, 0xdd), quarter(i < 8 ? a : b, 0xdd, i));
  LANES(uint32_t, _mm512_unpacklo_ps(A, B), unpacked(a.u32, b.u32, i, 4, 0));
  LANES(uint32_t, _mm512_unpackhi_ps(A, B), unpacked(a.u32, b.u32, i, 4, 2));
  LANES(uint32_t, _mm512_unpacklo_pd((__m512d)A, (__m512d)B), (i / 2 % 2 ? b : a).u32[i / 4 * 4 + i % 2]);
  LANES(uint32_t, _mm512_unpackhi_pd((__m512d)A, (__m512d)B), (i / 2 % 2 ? b : a).u32[i / 4 * 4 + 2 + i % 2]);
}

void formats() {
  const Lanes a = numbers(), b = numbers(), c = bits();
  const __m512 A = _mm512_loadu_ps(a.f32), B = _mm512_loadu_ps(b.f32);
  const __m256i low = _mm256_loadu_si256((const __m256i*)c.u8);
  LANES(float, _mm512_cvtepi32_ps(_mm512_loadu_si512(c.u8)), float(c.i32[i]));
  LANES(int32_t, _mm512_cvtps_epi32(A), to_int(a.f32[i]));
  LANES(float, _mm512_cvtph_ps(low), float(half_value(c.u16[i])));
  LANES(uint16_t, _mm512_cvtps_ph(A, _MM_FROUND_TO_NEAREST_INT), a.f32[i] == a.f32[i] ? to_f16(a.f32[i]) : a.u32[i] >> 16 & 0x8000 | 0x7e00 | a.u32[i] >> 13 & 0x1ff);
  LANES(double, _mm512_cvtps_pd(_mm512_castps512_ps256(A)), double(a.f32[i]));
  LANES(uint16_t, _mm512_cvtneps_pbh(A), to_bf16(a.f32[i]));
  LANES(uint16_t, _mm512_cvtne2ps_pbh(A, B), to_bf16(i < 16 ? b.f32[i] : a.f32[i - 16]));
  LANES(uint32_t, _mm512_cvtpbh_ps((__m256bh)low), uint32_t(c.u16[i]) << 16);
}

// Words of bf16 with values as of number(); in half of the calls with sums and products that are denormal.
void pairs() {
  const bool small = next() % 2;
  Lanes a, b, sum = numbers();
  for (Lanes* x : {&a, &b})
    for (uint16_t& word : x->u16) word = uint16_t(to_bits(number() * (small ? 0x1p-64f : 1)) >> 16);
  for (float& x : sum.f32) x *= small ? 0x1p-126f : 1;
  const __m512bh A = (__m512bh)_mm512_loadu_si512(a.u8), B = (__m512bh)_mm512_loadu_si512(b.u8);
  LANES(float, _mm512_dpbf16_ps(_mm512_loadu_ps(sum.f32), A, B),
        add_product(add_product(sum.f32[i], a.u16[2 * i + 1], b.u16[2 * i + 1]), a.u16[2 * i], b.u16[2 * i]));
}

[[gnu::noinline]] int run() {
  for (int round = 0; round < 2000; round++)
    for (void (*test)() : {loads_and_stores, every_lane, integers, widths, arithmetic, reductions, orders, formats, pairs}) test();
  int failures = 0;
  for (const auto& [name, count] : counts) {
    failures += count.failed > 0;
    printf("%s %s (%ld checks)\n", count.failed ? "FAIL" : "PASS", name.c_str(), count.checks);
  }
  printf(failures ? "%d tests FAILED\n" : "all tests passed\n", failures);
  return failures != 0;
}

} // namespace

int main() {
#if !defined(QUERN_EMULATE_AVX512)
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512bf16")) {
    puts("SKIP this machine lacks AVX-512 with VNNI and BF16");
    return 0;
  }
#endif
  return run();
}
