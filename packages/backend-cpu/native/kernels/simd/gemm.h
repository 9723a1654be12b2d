// The matrix product as dot products, a tile of TT rows by NN columns at a time. Each result has one register of partial
// sums, whatever tile it falls into, so it does not depend on how rows and columns were divided.
#pragma once

namespace quern::QUERN_ISA {

namespace {

// x, w and y of one tile or of a panel of tiles.
struct Product {
  const float* x;
  int64_t ldx;
  const float* w;
  int64_t ldw;
  const float* bias;
  float* y;
  int64_t ldy, K;
};

template <int TT, int NN>
inline void store_tile(const Product& p, const Floats (&sums)[TT][NN], int64_t t, int64_t n) {
#pragma GCC unroll 4
  for (int i = 0; i < TT; i++) {
    float* y = p.y + (t + i) * p.ldy + n;
    if constexpr (NN % 4 == 0)
#pragma GCC unroll 2
      for (int j = 0; j < NN; j += 4) store_sums(y + j, sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
    else *y = sum(sums[i][0]);
    if (p.bias)
      for (int j = 0; j < NN; j++) y[j] += p.bias[n + j];
  }
}

template <int TT, int NN>
inline void tile(const Product& p, int64_t t, int64_t n) {
  static_assert(NN % 4 == 0 || NN == 1);
  const float* x = p.x + t * p.ldx;
  const float* w = p.w + n * p.ldw;
  Floats sums[TT][NN];
  for (int i = 0; i < TT; i++)
    for (int j = 0; j < NN; j++) sums[i][j] = set(0);

  each(p.K, [&](int64_t k, auto... rest) {
    Floats rows[TT];
#pragma GCC unroll 4
    for (int i = 0; i < TT; i++) rows[i] = load(x + i * p.ldx + k, rest...);
#pragma GCC unroll 8
    for (int j = 0; j < NN; j++) {
      const Floats column = load(w + j * p.ldw + k, rest...);
#pragma GCC unroll 4
      for (int i = 0; i < TT; i++) sums[i][j] = fma(rows[i], column, sums[i][j]);
    }
  });
  store_tile<TT, NN>(p, sums, t, n);
}

// All rows against NN columns, from column n on while there are NN left; returns the first column not done.
template <int NN>
inline int64_t columns(const Product& p, int64_t T, int64_t n, int64_t N) {
  for (; n + NN <= N; n += NN) {
    int64_t t = 0;
    if constexpr (NN <= TILE_N) {
      for (; t + TILE_T <= T; t += TILE_T) tile<TILE_T, NN>(p, t, n);
      for (; t + 2 <= T; t += 2) tile<2, NN>(p, t, n);
    }
    for (; t < T; t++) tile<1, NN>(p, t, n);
  }
  return n;
}

} // namespace

void gemm(const float* x, int64_t ldx, const float* w, int64_t ldw, const float* bias, float* y, int64_t ldy, int64_t T,
          int64_t N, int64_t K) {
  constexpr int64_t cached = 128 * 1024; // floats of x that stay in a core's L2 cache while columns pass
  const int64_t fit = K > 0 ? cached / K / TILE_T * TILE_T : T;
  const int64_t rows = fit < TILE_T ? TILE_T : fit;
  for (int64_t t = 0; t < T; t += rows) {
    const int64_t count = T - t < rows ? T - t : rows;
    const Product part = {x + t * ldx, ldx, w, ldw, bias, y + t * ldy, ldy, K};
    int64_t n = 0;
    if (count == 1) n = columns<8>(part, count, n, N); // eight sums hide the latency of fma
    n = columns<TILE_N>(part, count, n, N);
    columns<1>(part, count, n, N);
  }
}

} // namespace quern::QUERN_ISA
