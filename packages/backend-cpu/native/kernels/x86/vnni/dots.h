// Dot products of bytes with VNNI: unsigned weights times signed activations, four at a time into 32 bits.
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

// Signed weights are made unsigned by adding 128, which the sum of x takes away again.
template <int COUNT>
inline Ints signed_dots(const Bytes (&q)[COUNT], const int8_t* x, const int32_t* negative_sum) {
  Ints sum = times_power_of_2<7>(broadcast(negative_sum));
#pragma GCC unroll 8
  for (int i = 0; i < COUNT; i++) sum = dot(sum, _mm512_xor_si512(q[i], every_byte(-128)), x + 4 * i);
  return sum;
}

} // namespace
} // namespace quern::QUERN_ISA
