// The product of many quantised rows with packed weights: the arithmetic and the bits of simd/few-rows.h, other loops. 32
// weights along k of 32 columns are unpacked to the L1 cache, then multiplied with up to 64 rows of x, 8 at a time.
#pragma once
#include "../../simd/few-rows.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t MANY_ROWS = 32;    // rows of x from which this is faster than few_rows
constexpr int64_t ROWS_AT_ONCE = 64; // their totals stay in L1
constexpr int COLUMNS = 2 * PACKED_ROWS, QUADS = SHARE / 4;

using Totals = float (*)[COLUMNS]; // [ROWS_AT_ONCE]

// 32 weights along k of two rows of tiles, as unsigned bytes.
template <class F>
struct alignas(64) Unpacked {
  static constexpr int BLOCKS = SHARE / F::BLOCK;
  Line lines[2][QUADS];
  float scales[2][BLOCKS][LANES], minus_mins[2][BLOCKS][LANES];
};

// 8 rows of x, a stride apart, and offsets of their parts for the current 32 values. Odd multiples of the stride are in registers
// (hidden from the compiler, which would add up addresses instead): every address is one operand.
struct XRows {
  const uint8_t* first;
  int64_t once, thrice, five_times, seven_times;
  int64_t values, scales, minus_sums, sums32, sums16; // in bytes

  XRows(const uint8_t* x, int64_t K) : first(x), once(quantised_row_bytes(K)), thrice(3 * once), five_times(5 * once), seven_times(7 * once) {
    const QuantisedRow row = quantised_row(x, K);
    const auto offset = [&](const void* part) { return static_cast<const uint8_t*>(part) - x; };
    values = offset(row.values), scales = offset(row.scales), minus_sums = offset(row.minus_sums);
    sums32 = offset(row.sums32), sums16 = offset(row.sums16);
  }
  void next_share() { values += SHARE, scales += 4, minus_sums += 4, sums32 += 4, sums16 += 8; }
  QUERN_INLINE void keep_strides() { asm("" : "+r"(once), "+r"(thrice), "+r"(five_times), "+r"(seven_times)); }

  QUERN_INLINE int64_t stride(int t) const {
    return t == 7 ? seven_times : t == 6 ? 2 * thrice : t == 5 ? five_times : t == 3 ? thrice : t * once;
  }
  template <class T>
  QUERN_INLINE const T* at(int t, int64_t part) const { return reinterpret_cast<const T*>(first + part + stride(t)); }
};

// Half h of span s of a tile → column j.
template <class F, int s, int h>
QUERN_INLINE void unpack(const F& tile, Unpacked<F>& w, int j) {
  constexpr int blocks = Unpacked<F>::BLOCKS, quads = F::BLOCK / 4;
  repeat<blocks>([&](auto b) QUERN_INLINE_LAMBDA {
    constexpr int block = h * blocks + b.value;
    Bytes q[quads];
    tile.template quads<s, block>(q);
#pragma GCC unroll 8
    for (int i = 0; i < quads; i++)
      _mm512_store_si512(w.lines[j][b.value * quads + i], F::MAX == 0 ? _mm512_xor_si512(q[i], every_byte(-128)) : q[i]);
    _mm512_store_ps(w.scales[j][b.value], tile.template scale<s, block>());
    if constexpr (F::MINS) _mm512_store_ps(w.minus_mins[j][b.value], tile.template minus_min<s, block>());
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

// dots of block b with TT rows of x.
template <class F, int TT, int J>
QUERN_INLINE void multiply_block(const Unpacked<F>& w, int b, const XRows& x, Ints (&dots)[TT][J]) {
  constexpr int quads = F::BLOCK / 4;
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) {
    const Ints first = first_sum<F>(Unpacked<F>::BLOCKS == 1 ? x.at<int32_t>(t, x.sums32) : x.at<int32_t>(t, x.sums16) + b);
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) dots[t][j] = first;
  }
#pragma GCC unroll 8
  for (int i = 0; i < quads; i++) {
    Bytes columns[J];
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) columns[j] = _mm512_load_si512(w.lines[j][b * quads + i]);
#pragma GCC unroll 8
    for (int t = 0; t < TT; t++) {
      const Bytes quad = broadcast_quad(x.at<int8_t>(t, x.values) + b * F::BLOCK + 4 * i);
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) dots[t][j] = dot(dots[t][j], columns[j], quad);
    }
  }
}

// totals += products of 32 values of TT rows of x with J · 16 columns.
template <class F, int TT, int J>
QUERN_INLINE void multiply_share(const Unpacked<F>& w, const XRows& x, Totals totals) {
  constexpr int blocks = Unpacked<F>::BLOCKS;
  Floats parts[TT][J];
#pragma GCC unroll 2
  for (int b = 0; b < blocks; b++) {
    Ints dots[TT][J];
    multiply_block<F, TT, J>(w, b, x, dots);
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) {
      const Floats scale = _mm512_load_ps(w.scales[j][b]);
      Floats minus_min;
      if constexpr (F::MINS) minus_min = _mm512_load_ps(w.minus_mins[j][b]);
#pragma GCC unroll 8
      for (int t = 0; t < TT; t++) {
        const Floats dot = to_floats(dots[t][j]);
        parts[t][j] = b == 0 ? dot * scale : fma(dot, scale, parts[t][j]);
        if constexpr (F::MINS && blocks > 1)
          parts[t][j] = fma(to_floats(broadcast(x.at<int32_t>(t, x.sums16) + b)), minus_min, parts[t][j]);
        if (b + 1 < blocks) continue;
        float* const total = totals[t] + j * LANES;
        Floats sum = fma(parts[t][j], set(*x.at<float>(t, x.scales)), _mm512_load_ps(total));
        if constexpr (F::MINS && blocks == 1) sum = fma(set(*x.at<float>(t, x.minus_sums)), minus_min, sum);
        _mm512_store_ps(total, sum);
      }
    }
  }
}

template <class F, int TT, int J>
[[gnu::noinline]] int64_t multiply_rows(const Unpacked<F>& w, const XRows& all, int64_t t, int64_t rows, Totals totals) {
  XRows x = all;
  x.keep_strides();
  for (x.first += t * x.once; t + TT <= rows; t += TT, x.first += TT * x.once) multiply_share<F, TT, J>(w, x, totals + t);
  return t;
}

// Formats with two scales per 32 weights keep sums and parts in registers: half the rows.
template <class F, int J>
inline void multiply_rows(const Unpacked<F>& w, const XRows& x, int64_t rows, Totals totals) {
  constexpr int most = Unpacked<F>::BLOCKS == 1 ? 8 : 4;
  int64_t t = multiply_rows<F, most, J>(w, x, 0, rows, totals);
  if constexpr (most > 4)
    if (rows & 4) t = multiply_rows<F, 4, J>(w, x, t, rows, totals);
  if (rows & 2) t = multiply_rows<F, 2, J>(w, x, t, rows, totals);
  if (rows & 1) multiply_rows<F, 1, J>(w, x, t, rows, totals);
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
  XRows x(g.x + t * quantised_row_bytes(g.K), g.K);
  Unpacked<F> w;
  for (int64_t at = 0; at < spans_of(g.K); at += F::SPANS, tiles += sizeof(typename F::Tile)) {
    repeat<F::SPANS * 2>([&](auto i) QUERN_INLINE_LAMBDA {
      constexpr int s = i.value / 2, h = i.value % 2;
      if (at + s >= spans_of(g.K)) return;
      for (int j = 0; j < J; j++) {
        prefetch_share<F, i.value>(tiles + (J + j) * tile_row_bytes); // of the next columns
        unpack<F, s, h>(F(tiles + j * tile_row_bytes, 0), w, j);
      }
      multiply_rows<F, J>(w, x, rows, totals);
      x.next_share();
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
