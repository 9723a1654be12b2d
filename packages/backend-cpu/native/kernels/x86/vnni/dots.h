// Dot products of bytes with VNNI: unsigned weights · signed activations, four products per 32-bit lane.
#pragma once
#include "../../simd/inline.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int PACKED_T = 4; // most rows of x per step of few_rows; more: many-rows.h

#if defined(QUERN_EMULATE_AVX512)
inline Ints dot(Ints sum, Bytes q, Bytes quads) { return _mm512_dpbusd_epi32(sum, q, quads); }
inline Ints dot(Ints sum, Bytes q, const int8_t* x) { return dot(sum, q, broadcast_quad(x)); }
#else
// A quad of x, as a memory operand or in every lane. Assembly: with the intrinsic, g++ 12 copies sums between registers.
QUERN_INLINE Ints dot(Ints sum, Bytes q, const int8_t* x) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(q), "m"(*reinterpret_cast<const int8_t(*)[4]>(x)));
  return sum;
}
QUERN_INLINE Ints dot(Ints sum, Bytes q, Bytes quads) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(q), "v"(quads));
  return sum;
}
#endif

template <int COUNT, int MAX>
inline Ints dots(Ints start, const Bytes (&q)[COUNT], const int8_t* x) {
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) start = dot(start, q[i], x + 4 * i);
  return start;
}

// Signed weights + 128 are unsigned; −128 · Σx corrects the result.
template <int COUNT>
inline Ints signed_dots(const Bytes (&q)[COUNT], const int8_t* x, const int32_t* negative_sum) {
  Ints sum = times_power_of_2<7>(broadcast(negative_sum));
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) sum = dot(sum, _mm512_xor_si512(q[i], every_byte(-128)), x + 4 * i);
  return sum;
}

} // namespace
} // namespace quern::QUERN_ISA
