// Sums of products of bf16 pairs, for attention.
#pragma once
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"
#include "pairs.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t BLOCK_PAIRS = ATTEND_KEYS / 2;

// sums[r][c] += Σ a[r][i] · column(i, c) over pairs i in [0, pairs); rows of a are lda words apart.
template <int RR, int CC, class F>
inline void add_products(const uint16_t* a, int64_t lda, int64_t pairs, F column, Floats (&sums)[RR][CC]) {
  for (int64_t i = 0; i < pairs; i++) {
    Pairs columns[CC];
#pragma GCC unroll 4
    for (int c = 0; c < CC; c++) columns[c] = column(i, c);
#pragma GCC unroll 6
    for (int r = 0; r < RR; r++) {
      const Pairs pair = every_lane(a + r * lda + 2 * i);
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) add_pair_products(sums[r][c], pair, columns[c]);
    }
  }
}

// Calls body<columns>(first) for 4, 2 or 1 columns at a time.
template <class F>
inline void each_column(int64_t columns, F body) {
  int64_t at = 0;
  for (; at + 4 <= columns; at += 4) body.template operator()<4>(at);
  for (; at + 2 <= columns; at += 2) body.template operator()<2>(at);
  if (at < columns) body.template operator()<1>(at);
}

// y_r = shrink_r · y_r + Σ weights[r][j] · v_j over pairs j of keys of a block, for RR queries from r on. Weights: bf16,
// with the row stride of scores. value(j, c): register c of both keys of pair j.
template <int RR, class F>
inline void add_pairs(const Queries& s, int32_t r, const float* weights, Range pairs, F value) {
  if (pairs.empty()) return;
  each_column(s.width / LANES, [&]<int CC>(int64_t at) {
    Floats sums[RR][CC];
    float* const y = s.y + r * s.width + at * LANES;
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[i][c] = load(y + i * s.width + c * LANES) * set(s.shrink[r + i]);
    add_products(reinterpret_cast<const uint16_t*>(weights) + 2 * pairs.from, 2 * ATTEND_KEYS, pairs.to - pairs.from,
                 [&](int64_t j, int c) { return value(pairs.from + j, at + c); }, sums);
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) store(y + i * s.width + c * LANES, sums[i][c]);
  });
  for (int i = 0; i < RR; i++) s.shrink[r + i] = 1;
}

} // namespace
} // namespace quern::QUERN_ISA
