// Products of many rows with VNNI, which multiplies unsigned bytes by signed ones: the panel's by those of x.
#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "dots.h"

namespace quern::vnni {

constexpr bool UNSIGNED_PANEL = true;

} // namespace quern::vnni

#include "../coarse-gemm.h"

namespace quern::vnni {
namespace {

constexpr int ROWS = 8; // of y at a time: 16 sums, a column and a quad of x fit the registers

// sums = TT rows of x times J · 16 columns of `spans` spans of the panel.
template <int TT, int J>
QUERN_INLINE void multiply_spans(const CoarseRow (&x)[TT], int64_t span, const PanelSpan (*w)[2], int64_t spans,
                                 Ints (&sums)[TT][J]) {
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++)
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) sums[t][j] = broadcast(x[t].sums + span / COARSE_SPANS);
  for (int64_t s = 0; s < spans; s++)
#pragma GCC unroll 4
    for (int64_t line = 0; line < LINES; line++) {
      Bytes columns[J];
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) columns[j] = _mm512_load_si512(w[s][j].lines[line]);
#pragma GCC unroll 8
      for (int t = 0; t < TT; t++)
#pragma GCC unroll 2
        for (int j = 0; j < J; j++) sums[t][j] = dot(sums[t][j], columns[j], x[t].values + (span + s) * SPAN + 4 * line);
    }
}

// Rows [t, t + TT) of y, J · 16 columns.
template <int TT, int J>
void multiply_rows(const PackedGemm& g, const Part& part, const Panel& panel) {
  const int64_t row_bytes = quantised_row_bytes(g.K), last = part.n + (J - 1) * LANES;
  const int64_t left = least(g.N - last, LANES); // columns of the last register
  CoarseRow x[TT];
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) x[t] = coarse_row(g.x + (part.t + t) * row_bytes, g.K);
  for (int64_t s = 0; s < part.spans; s += COARSE_SPANS) {
    const int64_t span = part.k / SPAN + s, stretch = s / COARSE_SPANS;
    const bool complete = part.k + (s + COARSE_SPANS) * SPAN >= g.K;
    Ints sums[TT][J];
    multiply_spans<TT, J>(x, span, panel.spans + s, least(part.spans - s, COARSE_SPANS), sums);
    for (int j = 0; j < J; j++) {
      const int64_t column = part.n + j * LANES, count = j + 1 < J ? LANES : left;
      const Floats steps = load(panel.steps[stretch][j]), bias = complete && g.bias ? load(g.bias + column, count) : set(0);
#pragma GCC unroll 8
      for (int t = 0; t < TT; t++) {
        float* const y = g.y + (part.t + t) * g.ldy + column;
        const Floats before = span == 0 ? set(0) : load(y, count);
        store(y, fma(to_floats(sums[t][j]), set(x[t].scales[span / COARSE_SPANS]) * steps, before) + bias, count);
      }
    }
  }
}

template <int TT>
inline void multiply_rows(const PackedGemm& g, Part& part, const Panel& panel) {
  for (; part.t + TT <= g.T; part.t += TT)
    part.columns > PACKED_ROWS ? multiply_rows<TT, 2>(g, part, panel) : multiply_rows<TT, 1>(g, part, panel);
}

void multiply_panel(const PackedGemm& g, Part part, const Panel& panel) {
  multiply_rows<ROWS>(g, part, panel);
  multiply_rows<4>(g, part, panel);
  multiply_rows<2>(g, part, panel);
  multiply_rows<1>(g, part, panel);
}

} // namespace
} // namespace quern::vnni
