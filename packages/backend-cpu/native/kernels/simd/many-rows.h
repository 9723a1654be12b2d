// The product of many quantised rows with packed weights: the arithmetic and the bits of few-rows.h, other loops. 32 weights
// along k of two registers of columns are unpacked once, then up to 64 rows of x pass; their totals lie in L1. An ISA folder
// offers, in its many-rows.h: unsigned_weights and multiply_share.
#pragma once
#include "few-rows.h"

namespace quern::QUERN_ISA {
namespace {

constexpr int64_t ROWS_AT_ONCE = 64; // their totals stay in L1
constexpr int COLUMNS = 2 * LANES, QUADS = SHARE / 4;

using Totals = float (*)[COLUMNS]; // [ROWS_AT_ONCE]

// 32 weights along k of J registers of columns, as unsigned bytes.
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

// The weights of format F as unsigned bytes.
template <class F>
Bytes unsigned_weights(Bytes q);

// totals[t] += products of 32 values of row t of x, row_bytes apart, with J · LANES columns.
template <class F, int J>
void multiply_share(const Unpacked<F, J>& w, XRow x, int64_t row_bytes, int64_t rows, Totals totals);

// Half h of span s of a tile → register j.
template <class F, int s, int h, int J>
QUERN_INLINE void unpack(const F& tile, Unpacked<F, J>& w, int j) {
  constexpr int blocks = Unpacked<F, J>::BLOCKS, quads = F::BLOCK / 4;
  repeat<blocks>([&](auto b) QUERN_INLINE_LAMBDA {
    constexpr int block = h * blocks + b.value;
    Bytes q[quads];
    tile.template quads<s, block>(q);
#pragma GCC unroll 8
    for (int i = 0; i < quads; i++) w.quads[j][b.value * quads + i] = unsigned_weights<F>(q[i]);
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

template <int J>
inline void store_rows(const PackedGemm& g, int64_t t, int64_t rows, int64_t n, Totals totals) {
  for (int64_t i = 0; i < rows; i++)
    for (int j = 0; j < J; j++) {
      const int64_t column = n + j * LANES, left = g.N - column < LANES ? g.N - column : LANES;
      const Floats sum = load(totals[i] + j * LANES);
      store(g.y + (t + i) * g.ldy + column, g.bias ? sum + load(g.bias + column, left) : sum, left);
    }
}

// Rows [t, t + rows) of y, J · LANES columns from n on.
template <class F, int J>
void multiply_columns(const PackedGemm& g, const uint8_t* tiles, int64_t tile_row_bytes, int64_t t, int64_t rows, int64_t n) {
  constexpr int registers = PACKED_ROWS / LANES, tile_rows = COLUMNS / PACKED_ROWS; // per tile; per step
  alignas(64) float totals[ROWS_AT_ONCE][COLUMNS];
  for (int64_t i = 0; i < rows; i++)
    for (int j = 0; j < J; j++) store(totals[i] + j * LANES, set(0));
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
        if (j % registers == 0) prefetch_share<F, i.value>(tiles + (tile_rows + j / registers) * tile_row_bytes); // of the next columns
        unpack<F, s, h>(F(tiles + j / registers * tile_row_bytes, j % registers * LANES), w, j);
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
      if (g.N - n > LANES) multiply_columns<F, 2>(g, tiles, tile_row_bytes, t, rows, n);
      else multiply_columns<F, 1>(g, tiles, tile_row_bytes, t, rows, n);
    }
}

} // namespace
} // namespace quern::QUERN_ISA
