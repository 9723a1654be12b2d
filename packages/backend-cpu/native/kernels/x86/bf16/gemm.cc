// Products of many bf16 rows of x with AVX512-BF16: two products per lane, twice the rate of floats on processors with fast
// units (AMD from Zen 4 on). Intel's AVX-512 units reach half of the rate of floats.
#define QUERN_ISA bf16
#include "../avx512/vector.h"
#include "pairs.h"

namespace quern::bf16 {

// Depth of a panel along k: usually all of K, so y is written once. A panel of this depth has 128 KB and is read from L2 in
// order, two lines per 16 products.
constexpr int64_t PANEL_K = 2048;

} // namespace quern::bf16

#include "../bf16-gemm.h"

namespace quern::bf16 {
namespace {

constexpr int ROWS = 8; // of y per step: 16 sums, two columns and a pair of x fit the registers

// `lines` lines of a step of the panel; x points at its first pair.
template <int TT, int J>
QUERN_INLINE void add_lines(const uint16_t* x, int64_t ldx, const Tile (&w)[2], int64_t lines, Floats (&sums)[TT][J]) {
#pragma GCC unroll 4
  for (int64_t q = 0; q < lines; q++) {
    Pairs columns[J];
#pragma GCC unroll 2
    for (int j = 0; j < J; j++) columns[j] = Pairs(_mm512_load_ps(w[j].pairs[q]));
#pragma GCC unroll 8
    for (int t = 0; t < TT; t++) {
      const Pairs pair = every_lane(x + t * ldx + 2 * q);
#pragma GCC unroll 2
      for (int j = 0; j < J; j++) add_pair_products(sums[t][j], pair, columns[j]);
    }
  }
}

// The last step if K is not a multiple of STEP: x is copied and zero-padded.
template <int TT, int J>
inline void add_rest(const uint16_t* x, int64_t ldx, int64_t n, const Tile (&w)[2], Floats (&sums)[TT][J]) {
  alignas(64) uint16_t rows[TT][STEP];
  for (int t = 0; t < TT; t++) _mm512_store_si512(rows[t], load_words(x + t * ldx, n));
  add_lines<TT, J>(rows[0], STEP, w, pairs_of(n), sums);
}

// Sums from y, as the previous panel left them, or from the bias. Prefetches the columns of y.
template <int TT, int J>
inline void begin(const Product& p, const Part& part, int64_t left, Floats (&sums)[TT][J]) {
#pragma GCC unroll 2
  for (int j = 0; j < J; j++) {
    const int64_t column = part.n + j * LANES, count = j + 1 < J ? LANES : left;
    const Floats bias = p.bias ? load(p.bias + column, count) : set(0);
#pragma GCC unroll 8
    for (int t = 0; t < TT; t++) {
      const float* const y = p.y + (part.t + t) * p.ldy + column;
      if (part.k == 0) __builtin_prefetch(y, 1);
      sums[t][j] = part.k == 0 ? bias : load(y, count);
    }
  }
}

// Rows [t, t + TT) of y, J · 16 columns.
template <int TT, int J>
void multiply_rows(const Product& p, const Part& part, const Panel& panel) {
  const int64_t left = part.columns - (J - 1) * LANES; // columns in the last register
  const uint16_t* const x = p.x + part.t * p.ldx + part.k;
  Floats sums[TT][J];
  begin<TT, J>(p, part, left, sums);
  int64_t k = 0;
  for (; k + STEP <= part.depth; k += STEP) add_lines<TT, J>(x + k, p.ldx, panel.steps[k / STEP], LINES, sums);
  if (k < part.depth) add_rest<TT, J>(x + k, p.ldx, part.depth - k, panel.steps[k / STEP], sums);
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++)
#pragma GCC unroll 2
    for (int j = 0; j < J; j++)
      store(p.y + (part.t + t) * p.ldy + part.n + j * LANES, sums[t][j], j + 1 < J ? LANES : left);
}

template <int TT>
inline void multiply_rows(const Product& p, Part& part, const Panel& panel) {
  for (; part.t + TT <= p.T; part.t += TT)
    part.columns > LANES ? multiply_rows<TT, 2>(p, part, panel) : multiply_rows<TT, 1>(p, part, panel);
}

void multiply_panel(const Product& p, Part part, const Panel& panel) {
  multiply_rows<ROWS>(p, part, panel);
  multiply_rows<4>(p, part, panel);
  multiply_rows<2>(p, part, panel);
  multiply_rows<1>(p, part, panel);
}

} // namespace

void round_bf16(const float* x, int64_t K, uint16_t* row) { round_row(x, K, row); }

} // namespace quern::bf16
