// Products of many rows with VNNI: unsigned bytes of the panel · signed bytes of x.
#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"

namespace quern::vnni {

constexpr bool UNSIGNED_PANEL = true;
// Depth of a panel along k: usually all of K, so y is written once. A panel of this depth has 128 KB and is read from L2 in
// order, two lines per 16 products.
constexpr int64_t PANEL_K = 4096;
constexpr int64_t TILES_ROWS = 64;

} // namespace quern::vnni

#include "../superblock-gemm.h"

namespace quern::vnni {
namespace {

constexpr int ROWS = 8; // of y per step: 16 sums, a column and a quad of x fit the registers
using Totals = float (*)[COLUMNS];

// In place. Assembly: with the intrinsic, g++ 12 copies the sums between registers.
QUERN_INLINE void add_dot(Ints& sum, Bytes columns, Bytes quad) {
#if defined(QUERN_EMULATE_AVX512)
  sum = _mm512_dpbusd_epi32(sum, columns, quad);
#else
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(columns), "v"(quad));
#endif
}

// A line as unsigned bytes.
template <class W>
QUERN_INLINE Bytes unsigned_line(const Line& line) {
  return W::is_unsigned ? _mm512_load_si512(line) : _mm512_xor_si512(load_bytes(line), every_byte(-128));
}

// sums = TT rows of x · J · 16 columns, over `count` spans: from span `first` of the part, span `at` of x.
template <int TT, int J, class W>
QUERN_INLINE void multiply_spans(const SuperblockRow (&x)[TT], int64_t at, const W& w, int64_t first, int64_t count,
                                 Ints (&sums)[TT][J]) {
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++)
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) sums[t][j] = broadcast(x[t].sums + at / SUPERBLOCK_SPANS);
  for (int64_t s = 0; s < count; s++)
#pragma GCC unroll 4
    for (int64_t line = 0; line < LINES; line++) {
      Bytes columns[J];
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) columns[j] = unsigned_line<W>(w.lines(first + s, j)[line]);
#pragma GCC unroll 8
      for (int t = 0; t < TT; t++) {
        const Bytes quad = broadcast_quad(x[t].values + (at + s) * SPAN + 4 * line);
#pragma GCC unroll 2
        for (int j = 0; j < J; j++) add_dot(sums[t][j], columns[j], quad);
      }
    }
}

// Prefetches the rows' columns of y, and initialises their totals.
template <int TT, int J>
void begin(const PackedGemm& g, const Part& part, int64_t left, Totals totals) {
  for (int t = 0; t < TT; t++) {
    const float* const y = g.y + (part.t + t) * g.ldy + part.n;
    for (int j = 0; j < J; j++) {
      if (part.k == 0) __builtin_prefetch(y + j * LANES, 1);
      store(totals[t] + j * LANES, part.k == 0 ? set(0) : load(y + j * LANES, j + 1 < J ? LANES : left));
    }
  }
}

template <int TT, int J>
void store_rows(const PackedGemm& g, const Part& part, int64_t left, Totals totals) {
  const bool biased = g.bias && part.k + part.spans * SPAN >= g.K;
  for (int j = 0; j < J; j++) {
    const int64_t column = part.n + j * LANES, count = j + 1 < J ? LANES : left;
    const Floats bias = biased ? load(g.bias + column, count) : set(0);
    for (int t = 0; t < TT; t++)
      store(g.y + (part.t + t) * g.ldy + column, load(totals[t] + j * LANES) + bias, count);
  }
}

// Rows [t, t + TT) of y, J · 16 columns. Registers hold the sums of one stretch, memory the totals of earlier stretches.
template <int TT, int J, class W>
void multiply_rows(const PackedGemm& g, const Part& part, const W& w, Totals totals) {
  const int64_t row_bytes = quantised_row_bytes(g.K);
  const int64_t left = least(g.N - part.n - (J - 1) * LANES, LANES); // columns in the last register
  SuperblockRow x[TT];
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) x[t] = superblock_row(g.x + (part.t + t) * row_bytes, g.K);
  begin<TT, J>(g, part, left, totals);
  for (int64_t s = 0; s < part.spans; s += SUPERBLOCK_SPANS) {
    const int64_t span = part.k / SPAN + s;
    Ints sums[TT][J];
    multiply_spans<TT, J>(x, span, w, s, least(part.spans - s, SUPERBLOCK_SPANS), sums);
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) {
      const Floats steps = w.steps(s, j);
#pragma GCC unroll 8
      for (int t = 0; t < TT; t++) {
        float* const total = totals[t] + j * LANES;
        store(total, fma(to_floats(sums[t][j]), set(x[t].scales[span / SUPERBLOCK_SPANS]) * steps, load(total)));
      }
    }
  }
  store_rows<TT, J>(g, part, left, totals);
}

template <int TT, class W>
inline void multiply_rows(const PackedGemm& g, Part& part, const W& w, Totals totals) {
  for (; part.t + TT <= g.T; part.t += TT)
    part.columns > PACKED_ROWS ? multiply_rows<TT, 2, W>(g, part, w, totals) : multiply_rows<TT, 1, W>(g, part, w, totals);
}

template <class W>
void multiply(const PackedGemm& g, Part part, const W& w) {
  alignas(64) float totals[ROWS][COLUMNS];
  multiply_rows<ROWS>(g, part, w, totals);
  multiply_rows<4>(g, part, w, totals);
  multiply_rows<2>(g, part, w, totals);
  multiply_rows<1>(g, part, w, totals);
}

} // namespace
} // namespace quern::vnni
