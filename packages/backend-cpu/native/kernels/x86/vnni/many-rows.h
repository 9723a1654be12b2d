// The product of many quantised rows with packed weights: the arithmetic and the bits of simd/few-rows.h, other loops. 32
// weights along k of 32 columns lie in registers while up to 64 rows of x pass; their totals lie in L1.
#pragma once
#include "../../simd/few-rows.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t MANY_ROWS = 5;     // rows of x from which this is faster than few_rows
constexpr int64_t ROWS_AT_ONCE = 64; // their totals stay in L1
constexpr int COLUMNS = 2 * PACKED_ROWS, QUADS = SHARE / 4;

using Totals = float (*)[COLUMNS]; // [ROWS_AT_ONCE]

// 32 weights along k of J rows of tiles, as unsigned bytes.
template <class F, int J>
struct Unpacked {
  static constexpr int BLOCKS = SHARE / F::BLOCK;
  Bytes quads[J][QUADS];
  Floats scales[J][BLOCKS], minus_mins[J][BLOCKS];
};

// A row of x at its current 32 values.
struct XRow {
  const int8_t* values;
  const float *scale, *minus_sum;
  const int32_t *sum32, *sums16;

  QUERN_INLINE void advance(int64_t bytes) {
    const auto by_bytes = [&]<class T>(const T*& p) { p = reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(p) + bytes); };
    by_bytes(values), by_bytes(scale), by_bytes(minus_sum), by_bytes(sum32), by_bytes(sums16);
  }
};

// Half h of span s of a tile → column j.
template <class F, int s, int h, int J>
QUERN_INLINE void unpack(const F& tile, Unpacked<F, J>& w, int j) {
  constexpr int blocks = Unpacked<F, J>::BLOCKS, quads = F::BLOCK / 4;
  repeat<blocks>([&](auto b) QUERN_INLINE_LAMBDA {
    constexpr int block = h * blocks + b.value;
    Bytes q[quads];
    tile.template quads<s, block>(q);
#pragma GCC unroll 8
    for (int i = 0; i < quads; i++)
      w.quads[j][b.value * quads + i] = F::MAX == 0 ? _mm512_xor_si512(q[i], every_byte(-128)) : q[i];
    w.scales[j][b.value] = tile.template scale<s, block>();
    if constexpr (F::MINS) w.minus_mins[j][b.value] = tile.template minus_min<s, block>();
  });
}

// Prefetches one of the shares of a tile into L2.
template <class F, int share>
QUERN_INLINE void prefetch_share(const uint8_t* tile) {
  constexpr int64_t bytes = sizeof(typename F::Tile), shares = 2 * F::SPANS;
  for (int64_t at = bytes * share / shares / 64 * 64; at < bytes * (share + 1) / shares / 64 * 64; at += 64)
    __builtin_prefetch(tile + at, 0, 2);
}

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

template <int J>
inline void store_rows(const PackedGemm& g, int64_t t, int64_t rows, int64_t n, Totals totals) {
  for (int64_t i = 0; i < rows; i++)
    for (int j = 0; j < J; j++) {
      const int64_t column = n + j * LANES, left = g.N - column < LANES ? g.N - column : LANES;
      const Floats sum = _mm512_load_ps(totals[i] + j * LANES);
      store(g.y + (t + i) * g.ldy + column, g.bias ? sum + load(g.bias + column, left) : sum, left);
    }
}

// Rows [t, t + rows) of y, J · 16 columns from n on.
template <class F, int J>
void multiply_columns(const PackedGemm& g, const uint8_t* tiles, int64_t tile_row_bytes, int64_t t, int64_t rows, int64_t n) {
  alignas(64) float totals[ROWS_AT_ONCE][COLUMNS];
  for (int64_t i = 0; i < rows; i++)
    for (int j = 0; j < J; j++) _mm512_store_ps(totals[i] + j * LANES, set(0));
  const int64_t row_bytes = quantised_row_bytes(g.K);
  const QuantisedRow first = quantised_row(g.x + t * row_bytes, g.K);
  XRow x{first.values, first.scales, first.minus_sums, first.sums32, first.sums16};
  for (int64_t at = 0; at < spans_of(g.K); at += F::SPANS, tiles += sizeof(typename F::Tile)) {
    repeat<F::SPANS * 2>([&](auto i) QUERN_INLINE_LAMBDA {
      constexpr int s = i.value / 2, h = i.value % 2;
      if (at + s >= spans_of(g.K)) return;
      Unpacked<F, J> w;
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) {
        prefetch_share<F, i.value>(tiles + (J + j) * tile_row_bytes); // of the next columns
        unpack<F, s, h>(F(tiles + j * tile_row_bytes, 0), w, j);
      }
      multiply_share<F, J>(w, x, row_bytes, rows, totals);
      x.values += SHARE, x.scale++, x.minus_sum++, x.sum32++, x.sums16 += 2;
    });
  }
  store_rows<J>(g, t, rows, n, totals);
}

template <class F>
inline void many_rows(const PackedGemm& g) {
  const int64_t tile_row_bytes = (spans_of(g.K) + F::SPANS - 1) / F::SPANS * int64_t(sizeof(typename F::Tile));
  for (int64_t n = 0; n < g.N; n += COLUMNS)
    for (int64_t t = 0; t < g.T; t += ROWS_AT_ONCE) {
      const uint8_t* const tiles = g.w + n / PACKED_ROWS * tile_row_bytes;
      const int64_t rows = g.T - t < ROWS_AT_ONCE ? g.T - t : ROWS_AT_ONCE;
      if (g.N - n > PACKED_ROWS) multiply_columns<F, 2>(g, tiles, tile_row_bytes, t, rows, n);
      else multiply_columns<F, 1>(g, tiles, tile_row_bytes, t, rows, n);
    }
}

} // namespace
} // namespace quern::QUERN_ISA
