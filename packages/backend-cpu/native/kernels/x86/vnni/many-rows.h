// simd/many-rows.h with VNNI: the weights lie in registers while the rows of x pass.
#pragma once
#include "../../simd/many-rows.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t MANY_ROWS = 5; // rows of x from which this is faster than few_rows

template <class F>
QUERN_INLINE Bytes unsigned_weights(Bytes q) { return F::MAX == 0 ? _mm512_xor_si512(q, every_byte(-128)) : q; }

// Corrects offset weights: −2^offset · Σx.
template <class F>
QUERN_INLINE Ints first_sum(const int32_t* negative_sum) {
  if constexpr (F::MAX == 0) return times_power_of_2<7>(broadcast(negative_sum));
  else if constexpr (F::OFFSET == NONE) return no_ints();
  else return times_power_of_2<F::OFFSET>(broadcast(negative_sum));
}

// total += products of 32 values of a row of x with J · 16 columns.
template <class F, int J>
QUERN_INLINE void multiply_row(const Unpacked<F, J>& w, const XRow& x, float* total) {
  constexpr int blocks = Unpacked<F, J>::BLOCKS, quads = F::BLOCK / 4;
  Floats parts[J];
#pragma GCC unroll 2
  for (int b = 0; b < blocks; b++) {
    Ints dots[J][2]; // two chains of sums: shorter latency
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) dots[j][0] = first_sum<F>(blocks == 1 ? x.sum32 : x.sums16 + b), dots[j][1] = no_ints();
#pragma GCC unroll 8
    for (int i = 0; i < quads; i++) {
      const Bytes quad = broadcast_quad(x.values + b * F::BLOCK + 4 * i);
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) dots[j][i % 2] = dot(dots[j][i % 2], w.quads[j][b * quads + i], quad);
    }
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) {
      const Floats product = to_floats(_mm512_add_epi32(dots[j][0], dots[j][1]));
      parts[j] = b == 0 ? product * w.scales[j][b] : fma(product, w.scales[j][b], parts[j]);
      if constexpr (F::MINS && blocks > 1) parts[j] = fma(to_floats(broadcast(x.sums16 + b)), w.minus_mins[j][b], parts[j]);
    }
  }
#pragma GCC unroll 2
  for (int j = 0; j < J; j++) {
    Floats sum = fma(parts[j], set(*x.scale), _mm512_load_ps(total + j * LANES));
    if constexpr (F::MINS && blocks == 1) sum = fma(set(*x.minus_sum), w.minus_mins[j][0], sum);
    _mm512_store_ps(total + j * LANES, sum);
  }
}

template <class F, int J>
[[gnu::noinline]] void multiply_share(const Unpacked<F, J>& unpacked, XRow x, int64_t row_bytes, int64_t rows, Totals totals) {
  const Unpacked<F, J> w = unpacked;
  for (int64_t t = 0; t < rows; t++) {
    multiply_row<F, J>(w, x, totals[t]);
    x.advance(row_bytes);
  }
}

} // namespace
} // namespace quern::QUERN_ISA
