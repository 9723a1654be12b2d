// Dot products of bytes with VNNI: unsigned weights · signed activations, four products per 32-bit lane.
#pragma once

namespace quern::QUERN_ISA {
namespace {

inline Ints dot(Ints sum, Bytes q, const int8_t* x) { return _mm512_dpbusd_epi32(sum, q, broadcast_quad(x)); }

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
