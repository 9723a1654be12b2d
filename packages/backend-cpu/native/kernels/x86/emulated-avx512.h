// The AVX-512 intrinsics of these folders in terms of AVX2 and plain C++, after the pseudocode in the Intel SDM, volume 2: tests
// kernels on machines without AVX-512 (QUERN_EMULATE_AVX512). Included after immintrin.h, whose functions it replaces by name.
// test/emulated-avx512-test.cc compares each with its definition.
#pragma once
#include <stdint.h>

namespace quern::avx512_model {
namespace {

// Calls keep the code of the kernels small: inlined, they take the compiler minutes.
#define MODEL inline __attribute__((noinline))
#define SHORT inline __attribute__((always_inline))

template <class E>
struct Lanes {
  typedef E type __attribute__((vector_size(64), may_alias));
  static constexpr int count = 64 / int(sizeof(E));
};
template <class E>
using Register = typename Lanes<E>::type;

// The same bits in other lanes.
template <class E, class V>
SHORT Register<E> as(V x) { return (Register<E>)x; }

template <class E, class F>
SHORT Register<E> each(F f) {
  Register<E> y;
  for (int i = 0; i < Lanes<E>::count; i++) y[i] = E(f(i));
  return y;
}

template <class E, class F>
SHORT uint64_t mask_of(F f) {
  uint64_t mask = 0;
  for (int i = 0; i < Lanes<E>::count; i++) mask |= uint64_t(f(i) ? 1 : 0) << i;
  return mask;
}

SHORT bool bit(uint64_t mask, int i) { return mask >> i & 1; }

union Floats16 {
  __m512 whole;
  __m256 half[2];
};
union Ints16 {
  __m512i whole;
  __m256i half[2];
};

// f of both halves of registers of floats.
template <class F, class... X>
SHORT __m512 halves(F f, X... x) {
  Floats16 y;
  for (int i = 0; i < 2; i++) y.half[i] = f(Floats16{x}.half[i]...);
  return y.whole;
}

template <class Lane, class T>
SHORT Lane read(const T* p, int i) {
  Lane x;
  __builtin_memcpy(&x, reinterpret_cast<const uint8_t*>(p) + i * int(sizeof x), sizeof x);
  return x;
}

// loads and stores

template <class V>
SHORT V load(const void* p) {
  V x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class V>
SHORT void store(void* p, V x) { __builtin_memcpy(p, &x, sizeof x); }
template <class E>
MODEL Register<E> load_some(Register<E> rest, uint64_t mask, const void* p) {
  return each<E>([&](int i) { return bit(mask, i) ? read<E>(p, i) : rest[i]; });
}
template <class E, class V>
MODEL void store_some(void* p, uint64_t mask, V x, int count) {
  E lanes[64 / sizeof(E)];
  __builtin_memcpy(lanes, &x, sizeof x);
  for (int i = 0; i < count; i++)
    if (bit(mask, i)) static_cast<E*>(p)[i] = lanes[i];
}
template <class E, class V>
MODEL V load_zeroed(uint64_t mask, const void* p) {
  E lanes[sizeof(V) / sizeof(E)];
  for (int i = 0; i < int(sizeof(V) / sizeof(E)); i++) lanes[i] = bit(mask, i) ? static_cast<const E*>(p)[i] : E(0);
  return load<V>(lanes);
}

// integers

template <class E, class V>
MODEL __m512i blend(uint64_t mask, V a, V b) {
  return (__m512i)each<E>([&](int i) { return bit(mask, i) ? as<E>(b)[i] : as<E>(a)[i]; });
}
MODEL __m512i ternary(__m512i a, __m512i b, __m512i c, int table) {
  __m512i y = {};
  for (int i = 0; i < 8; i++)
    if (bit(uint64_t(table), i)) y |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return y;
}
MODEL __m512i maddubs(__m512i a, __m512i b) {
  return Ints16{.half = {_mm256_maddubs_epi16(Ints16{a}.half[0], Ints16{b}.half[0]),
                         _mm256_maddubs_epi16(Ints16{a}.half[1], Ints16{b}.half[1])}}.whole;
}
MODEL __m512i madd(__m512i a, __m512i b) {
  return Ints16{.half = {_mm256_madd_epi16(Ints16{a}.half[0], Ints16{b}.half[0]),
                         _mm256_madd_epi16(Ints16{a}.half[1], Ints16{b}.half[1])}}.whole;
}
MODEL __m512i shuffle_bytes(__m512i a, __m512i b) {
  return Ints16{.half = {_mm256_shuffle_epi8(Ints16{a}.half[0], Ints16{b}.half[0]),
                         _mm256_shuffle_epi8(Ints16{a}.half[1], Ints16{b}.half[1])}}.whole;
}
// sum + products of unsigned bytes of a with signed bytes of b, four to a lane.
MODEL __m512i dot_bytes(__m512i sum, __m512i a, __m512i b) {
  const auto quads = [](__m512i x, int k) { return as<int32_t>(x) << (24 - 8 * k); };
  Register<int32_t> y = as<int32_t>(sum);
  for (int k = 0; k < 4; k++) y += (Register<int32_t>)(as<uint32_t>(quads(a, k)) >> 24) * (quads(b, k) >> 24);
  return (__m512i)y;
}
template <class Lane, class Narrow, class V>
MODEL Register<Lane> widen(V x) {
  return each<Lane>([&](int i) { return read<Narrow>(&x, i); });
}
MODEL __m256i low_words(__m512i x) {
  uint16_t words[16];
  for (int i = 0; i < 16; i++) words[i] = uint16_t(as<uint32_t>(x)[i]);
  return load<__m256i>(words);
}
MODEL __m128i saturated_bytes(__m512i x) {
  int8_t bytes[16];
  for (int i = 0; i < 16; i++) {
    const int32_t v = as<int32_t>(x)[i];
    bytes[i] = int8_t(v < -128 ? -128 : v > 127 ? 127 : v);
  }
  return load<__m128i>(bytes);
}
MODEL uint32_t largest_unsigned(__m512i x) {
  uint32_t most = 0;
  for (int i = 0; i < 16; i++) most = as<uint32_t>(x)[i] > most ? as<uint32_t>(x)[i] : most;
  return most;
}

struct Smaller {
  template <class E>
  E operator()(E a, E b) const { return a < b ? a : b; }
};
struct Larger {
  template <class E>
  E operator()(E a, E b) const { return a > b ? a : b; }
};
struct HighProduct {
  int16_t operator()(int16_t a, int16_t b) const { return int16_t(int32_t(a) * b >> 16); }
};
template <class E, class F>
MODEL __m512i both(__m512i a, __m512i b) {
  return (__m512i)each<E>([&](int i) { return F()(E(as<E>(a)[i]), E(as<E>(b)[i])); });
}
MODEL __m512i magnitudes(__m512i x) {
  return (__m512i)each<int8_t>([&](int i) { return as<int8_t>(x)[i] < 0 ? -as<int8_t>(x)[i] : as<int8_t>(x)[i]; });
}
MODEL uint64_t negative_bytes(__m512i x) {
  return mask_of<int8_t>([&](int i) { return as<int8_t>(x)[i] < 0; });
}
MODEL uint16_t below(__m512i a, __m512i b) {
  return uint16_t(mask_of<uint32_t>([&](int i) { return as<uint32_t>(a)[i] < as<uint32_t>(b)[i]; }));
}
template <class E, class V>
MODEL V permute(__m512i order, V x) {
  return (V)each<E>([&](int i) { return as<E>(x)[as<E>(order)[i] % Lanes<E>::count]; });
}
MODEL __m512i broadcast(__m128i x) {
  return (__m512i)each<int32_t>([&](int i) { return read<int32_t>(&x, i % 4); });
}

// floats

MODEL __m512 max(__m512 a, __m512 b) { return halves([](__m256 x, __m256 y) { return _mm256_max_ps(x, y); }, a, b); }
MODEL __m512 min(__m512 a, __m512 b) { return halves([](__m256 x, __m256 y) { return _mm256_min_ps(x, y); }, a, b); }
MODEL __m512 fmadd(__m512 a, __m512 b, __m512 c) {
  return halves([](__m256 x, __m256 y, __m256 z) { return _mm256_fmadd_ps(x, y, z); }, a, b, c);
}
MODEL __m512 fmaddsub(__m512 a, __m512 b, __m512 c) {
  return halves([](__m256 x, __m256 y, __m256 z) { return _mm256_fmaddsub_ps(x, y, z); }, a, b, c);
}
MODEL __m512d fmadd(__m512d a, __m512d b, __m512d c) {
  __m512d y;
  for (int i = 0; i < 8; i++) y[i] = __builtin_fma(a[i], b[i], c[i]);
  return y;
}
template <int mode>
MODEL __m512 round(__m512 x) { return halves([](__m256 half) { return _mm256_round_ps(half, mode); }, x); }
template <int mode>
MODEL __m512 reduce(__m512 x) {
  const __m512 whole = round<mode>(x);
  const bool down = (mode & 3) == _MM_FROUND_TO_NEG_INF;
  return (__m512)each<float>([&](int i) {
    const float rest = x[i] - whole[i];
    return rest == 0 || __builtin_isinf(x[i]) ? (down ? -0.0f : 0.0f) : rest;
  });
}
// a · 2^⌊b⌋; special cases: table "VSCALEFPD/SD/PS/SS special cases" of the SDM.
SHORT float scaled(float a, float b) {
  if (b != b) return a + b;
  if (__builtin_isinf(b)) return a != a ? (b > 0 ? b : 0) : b > 0 ? a * b : a * 0;
  const float power = __builtin_floorf(b);
  return a != a ? a : __builtin_ldexpf(a, int(power > 400 ? 400 : power < -400 ? -400 : power));
}
MODEL __m512 scalef(__m512 a, __m512 b) {
  return (__m512)each<float>([&](int i) { return scaled(a[i], b[i]); });
}
template <int predicate>
MODEL uint16_t compare(__m512 a, __m512 b) {
  static_assert(predicate == _CMP_EQ_OQ || predicate == _CMP_LT_OQ || predicate == _CMP_GE_OQ || predicate == _CMP_UNORD_Q);
  return uint16_t(mask_of<float>([&](int i) {
    if (predicate == _CMP_EQ_OQ) return a[i] == b[i];
    if (predicate == _CMP_LT_OQ) return a[i] < b[i];
    if (predicate == _CMP_GE_OQ) return a[i] >= b[i];
    return a[i] != a[i] || b[i] != b[i];
  }));
}
MODEL __m512 where(uint64_t mask, __m512 rest, __m512 x) {
  return (__m512)each<float>([&](int i) { return bit(mask, i) ? x[i] : rest[i]; });
}
MODEL __m512 swap_in_quarters(__m512 x, int order) {
  return (__m512)each<float>([&](int i) { return x[i / 4 * 4 + (order >> (2 * (i % 4)) & 3)]; });
}
// No instruction: the order of operands is that of g++. Where a lane is NaN, the result is the second operand.
MODEL float largest(__m512 x) {
  __m512 y = x;
  for (int apart = 8; apart >= 4; apart /= 2)
    for (int i = 0; i < apart; i++) y[i] = y[apart + i] > y[i] ? y[apart + i] : y[i];
  for (int apart = 2; apart > 0; apart /= 2)
    for (int i = 0; i < apart; i++) y[i] = y[i] > y[apart + i] ? y[i] : y[apart + i];
  return y[0];
}
MODEL double sum(__m512d x) {
  double y[8];
  for (int i = 0; i < 8; i++) y[i] = x[i];
  for (int apart = 4; apart > 0; apart /= 2)
    for (int i = 0; i < apart; i++) y[i] = y[apart + i] + y[i];
  return y[0];
}
SHORT __m256 half(__m512 x, int i) { return Floats16{x}.half[i]; }
MODEL __m512i to_ints(__m512 x) {
  return Ints16{.half = {_mm256_cvtps_epi32(half(x, 0)), _mm256_cvtps_epi32(half(x, 1))}}.whole;
}
MODEL __m512 from_f16(__m256i x) {
  return Floats16{.half = {_mm256_cvtph_ps(_mm256_castsi256_si128(x)), _mm256_cvtph_ps(_mm256_extracti128_si256(x, 1))}}.whole;
}
template <int mode>
MODEL __m256i to_f16(__m512 x) {
  return _mm256_set_m128i(_mm256_cvtps_ph(half(x, 1), mode), _mm256_cvtps_ph(half(x, 0), mode));
}
MODEL __m512d to_doubles(__m256 x) {
  __m512d y;
  for (int i = 0; i < 8; i++) y[i] = x[i];
  return y;
}

// Lane i of each quarter: a lane of a, of a, of b, of b.
template <int order, class V>
MODEL V shuffle_quarters(V a, V b) {
  return (V)each<float>([&](int i) {
    const int quarter = order >> (2 * (i / 4)) & 3;
    return as<float>(i < 8 ? a : b)[4 * quarter + i % 4];
  });
}
template <class E>
MODEL Register<E> unpack(Register<E> a, Register<E> b, bool high) {
  constexpr int per_quarter = 16 / int(sizeof(E));
  return each<E>([&](int i) {
    const int at = i / per_quarter * per_quarter + (high ? per_quarter / 2 : 0) + i % per_quarter / 2;
    return i % 2 == 0 ? a[at] : b[at];
  });
}

// bf16: ties to even, denormals count as zero

SHORT uint16_t to_bf16(float x) {
  const uint32_t bits = __builtin_bit_cast(uint32_t, x), exponent = bits >> 23 & 0xff;
  if (x != x) return uint16_t(bits >> 16 | 0x40);
  if (exponent == 0) return uint16_t(bits >> 16 & 0x8000);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
MODEL __m512bh to_bf16(__m512 high, __m512 low) {
  return (__m512bh)each<uint16_t>([&](int i) { return to_bf16(i < 16 ? low[i] : high[i - 16]); });
}
MODEL __m256bh to_bf16(__m512 x) {
  uint16_t words[16];
  for (int i = 0; i < 16; i++) words[i] = to_bf16(x[i]);
  return load<__m256bh>(words);
}
MODEL __m512 from_bf16(__m256bh x) {
  return (__m512)each<uint32_t>([&](int i) { return uint32_t(read<uint16_t>(&x, i)) << 16; });
}
SHORT float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }
SHORT float lane_bf16(uint32_t pair, bool odd) {
  return flushed(__builtin_bit_cast(float, odd ? pair & 0xffff0000 : pair << 16));
}
// sum + products of pairs, the odd one first, each rounded once.
MODEL __m512 dot_pairs(__m512 sum, __m512bh a, __m512bh b) {
  return (__m512)each<float>([&](int i) {
    const uint32_t x = as<uint32_t>(a)[i], y = as<uint32_t>(b)[i];
    const float odd = flushed(__builtin_fmaf(lane_bf16(x, true), lane_bf16(y, true), flushed(sum[i])));
    return flushed(__builtin_fmaf(lane_bf16(x, false), lane_bf16(y, false), odd));
  });
}

} // namespace
} // namespace quern::avx512_model

#define M(name) quern::avx512_model::name

#define _mm512_loadu_ps(p) M(load)<__m512>(p)
#define _mm512_load_ps(p) M(load)<__m512>(p)
#define _mm512_loadu_si512(p) M(load)<__m512i>(p)
#define _mm512_load_si512(p) M(load)<__m512i>(p)
#define _mm512_storeu_ps(p, x) M(store)(p, x)
#define _mm512_store_ps(p, x) M(store)(p, x)
#define _mm512_storeu_si512(p, x) M(store)(p, x)
#define _mm512_store_si512(p, x) M(store)(p, x)
#define _mm512_maskz_loadu_ps(m, p) (__m512) M(load_some)<float>(M(Register)<float>{}, m, p)
#define _mm512_mask_loadu_ps(rest, m, p) (__m512) M(load_some)<float>(M(as)<float>(rest), m, p)
#define _mm512_maskz_loadu_epi16(m, p) (__m512i) M(load_some)<uint16_t>(M(Register)<uint16_t>{}, m, p)
#define _mm512_mask_storeu_ps(p, m, x) M(store_some)<float>(p, m, x, 16)
#define _mm512_mask_storeu_epi16(p, m, x) M(store_some)<uint16_t>(p, m, x, 32)
#define _mm256_mask_storeu_epi16(p, m, x) M(store_some)<uint16_t>(p, m, x, 16)
#define _mm256_maskz_loadu_epi16(m, p) M(load_zeroed)<uint16_t, __m256i>(m, p)
#define _mm_maskz_loadu_epi8(m, p) M(load_zeroed)<uint8_t, __m128i>(m, p)

#define _mm512_set1_ps(x) ((__m512)(M(Register)<int32_t>{} + __builtin_bit_cast(int32_t, float(x)))) // 0.0f + x loses −0
#define _mm512_set1_epi8(x) ((__m512i)(M(Register)<char>{} + char(x)))
#define _mm512_set1_epi16(x) ((__m512i)(M(Register)<int16_t>{} + int16_t(x)))
#define _mm512_set1_epi32(x) ((__m512i)(M(Register)<int32_t>{} + int32_t(x)))
#define _mm512_setr_epi32(...) ((__m512i)M(Register)<int32_t>{__VA_ARGS__})
#define _mm512_setzero_pd() (__m512d{})
#define _mm512_setzero_si512() (__m512i{})
#define _mm512_broadcast_i32x4(x) M(broadcast)(x)
#define _mm512_castps_si512(x) ((__m512i)(x))
#define _mm512_castsi512_ps(x) ((__m512)(x))
#define _mm512_castps512_ps256(x) M(half)(x, 0)
#define _mm512_extractf32x8_ps(x, i) M(half)(x, i)

#define _mm512_and_si512(a, b) ((a) & (b))
#define _mm512_or_si512(a, b) ((a) | (b))
#define _mm512_xor_si512(a, b) ((a) ^ (b))
#define _mm512_ternarylogic_epi32(a, b, c, table) M(ternary)(a, b, c, table)
#define _mm512_add_epi16(a, b) ((__m512i)(M(as)<uint16_t>(a) + M(as)<uint16_t>(b)))
#define _mm512_add_epi32(a, b) ((__m512i)(M(as)<uint32_t>(a) + M(as)<uint32_t>(b)))
#define _mm512_sub_epi8(a, b) ((__m512i)(M(as)<uint8_t>(a) - M(as)<uint8_t>(b)))
#define _mm512_mask_sub_epi8(rest, m, a, b) M(blend)<uint8_t>(m, rest, _mm512_sub_epi8(a, b))
#define _mm512_mullo_epi16(a, b) ((__m512i)(M(as)<uint16_t>(a) * M(as)<uint16_t>(b)))
#define _mm512_mulhi_epi16(a, b) M(both)<int16_t, M(HighProduct)>(a, b)
#define _mm512_maddubs_epi16(a, b) M(maddubs)(a, b)
#define _mm512_madd_epi16(a, b) M(madd)(a, b)
#define _mm512_abs_epi8(x) M(magnitudes)(x)
#define _mm512_min_epi8(a, b) M(both)<int8_t, M(Smaller)>(a, b)
#define _mm512_max_epi8(a, b) M(both)<int8_t, M(Larger)>(a, b)
#define _mm512_max_epu32(a, b) M(both)<uint32_t, M(Larger)>(a, b)
#define _mm512_reduce_max_epu32(x) M(largest_unsigned)(x)
#define _mm512_slli_epi16(x, n) ((__m512i)(M(as)<uint16_t>(x) << (n)))
#define _mm512_srli_epi16(x, n) ((__m512i)(M(as)<uint16_t>(x) >> (n)))
#define _mm512_srai_epi16(x, n) ((__m512i)(M(as)<int16_t>(x) >> (n)))
#define _mm512_slli_epi32(x, n) ((__m512i)(M(as)<uint32_t>(x) << (n)))
#define _mm512_srli_epi32(x, n) ((__m512i)(M(as)<uint32_t>(x) >> (n)))
#define _mm512_srai_epi32(x, n) ((__m512i)(M(as)<int32_t>(x) >> (n)))
#define _mm512_shuffle_epi8(a, b) M(shuffle_bytes)(a, b)
#define _mm512_permutexvar_epi16(order, x) M(permute)<uint16_t>(order, x)
#define _mm512_mask_blend_epi8(m, a, b) M(blend)<uint8_t>(m, a, b)
#define _mm512_mask_blend_epi16(m, a, b) M(blend)<uint16_t>(m, a, b)
#define _mm512_mask_blend_epi32(m, a, b) M(blend)<uint32_t>(m, a, b)
#define _mm512_movepi8_mask(x) M(negative_bytes)(x)
#define _mm512_cmplt_epu32_mask(a, b) M(below)(a, b)
#define _mm512_cvtepi8_epi32(x) ((__m512i)M(widen)<int32_t, int8_t>(x))
#define _mm512_cvtepu8_epi32(x) ((__m512i)M(widen)<int32_t, uint8_t>(x))
#define _mm512_cvtepu16_epi32(x) ((__m512i)M(widen)<int32_t, uint16_t>(x))
#define _mm512_cvtepi32_epi16(x) M(low_words)(x)
#define _mm512_cvtsepi32_epi8(x) M(saturated_bytes)(x)

#define _mm512_fmadd_ps(a, b, c) M(fmadd)(a, b, c)
#define _mm512_fmadd_pd(a, b, c) M(fmadd)(a, b, c)
#define _mm512_fmaddsub_ps(a, b, c) M(fmaddsub)(a, b, c)
#define _mm512_min_ps(a, b) M(min)(a, b)
#define _mm512_max_ps(a, b) M(max)(a, b)
#define _mm512_abs_ps(x) ((__m512)(M(as)<uint32_t>(x) & 0x7fffffffu))
#define _mm512_roundscale_ps(x, mode) M(round)<mode>(x)
#define _mm512_reduce_ps(x, mode) M(reduce)<mode>(x)
#define _mm512_scalef_ps(a, b) M(scalef)(a, b)
#define _mm512_cmp_ps_mask(a, b, predicate) M(compare)<predicate>(a, b)
#define _mm512_mask_mov_ps(rest, m, x) M(where)(m, rest, x)
#define _mm512_mask_blend_ps(m, a, b) M(where)(m, a, b)
#define _mm512_maskz_sub_ps(m, a, b) M(where)(m, __m512{}, (a) - (b))
#define _mm512_maskz_div_ps(m, a, b) M(where)(m, __m512{}, (a) / (b))
#define _mm512_reduce_max_ps(x) M(largest)(x)
#define _mm512_reduce_add_pd(x) M(sum)(x)
#define _mm512_permutexvar_ps(order, x) ((__m512)M(permute)<uint32_t>(order, _mm512_castps_si512(x)))
#define _mm512_permute_ps(x, order) M(swap_in_quarters)(x, order)
#define _mm512_shuffle_f32x4(a, b, order) M(shuffle_quarters)<order>(a, b)
#define _mm512_unpacklo_ps(a, b) ((__m512)M(unpack)<float>(M(as)<float>(a), M(as)<float>(b), false))
#define _mm512_unpackhi_ps(a, b) ((__m512)M(unpack)<float>(M(as)<float>(a), M(as)<float>(b), true))
#define _mm512_unpacklo_pd(a, b) ((__m512d)M(unpack)<double>(M(as)<double>(a), M(as)<double>(b), false))
#define _mm512_unpackhi_pd(a, b) ((__m512d)M(unpack)<double>(M(as)<double>(a), M(as)<double>(b), true))
#define _mm512_cvtepi32_ps(x) ((__m512)__builtin_convertvector(M(as)<int32_t>(x), M(Register)<float>))
#define _mm512_cvtps_epi32(x) M(to_ints)(x)
#define _mm512_cvtph_ps(x) M(from_f16)(x)
#define _mm512_cvtps_ph(x, mode) M(to_f16)<mode>(x)
#define _mm512_cvtps_pd(x) M(to_doubles)(x)

#define _mm512_dpbusd_epi32(sum, a, b) M(dot_bytes)(sum, a, b)
#define _mm512_dpbf16_ps(sum, a, b) M(dot_pairs)(sum, a, b)
#define _mm512_cvtne2ps_pbh(high, low) M(to_bf16)(high, low)
#define _mm512_cvtneps_pbh(x) M(to_bf16)(x)
#define _mm512_cvtpbh_ps(x) M(from_bf16)(x)
