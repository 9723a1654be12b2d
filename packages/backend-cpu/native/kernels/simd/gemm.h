// The matrix product as dot products, one tile of TT rows × NN columns at a time. Each result has its own register of
// partial sums in any tile, so it does not depend on how rows and columns are divided.
#pragma once

namespace quern::QUERN_ISA {

namespace {

// Element types of x and w: how to load STEP elements, and how to multiply and add two such registers.
struct OfFloats {
  using X = float;
  using W = float;
  static constexpr int STEP = LANES;
  template <class... N>
  static Floats load_x(const X* p, N... n) { return load(p, n...); }
  template <class... N>
  static Floats load_w(const W* p, N... n) { return load(p, n...); }
  static Floats add_product(Floats x, Floats w, Floats sum) { return fma(x, w, sum); }
};
struct OfF16Weights : OfFloats {
  using W = uint16_t;
  template <class... N>
  static Floats load_w(const W* p, N... n) { return load(p, n...); }
};
struct OfBf16Weights : OfFloats {
  using W = uint16_t;
  template <class... N>
  static Floats load_w(const W* p, N... n) { return load_bf16(p, n...); }
};

// How w passes. The hardware alone keeps too few loads in flight (docs/performance.md).
enum class Order {
  in_memory, // adjacent columns; the next tile's w is prefetched in order of memory: fastest from memory
  spread,    // columns of a tile lie N / NN apart; each is prefetched a little ahead: fastest from L2
};
constexpr int64_t SPREAD_AHEAD = 512; // bytes

// x, w and y of one tile or of a panel of tiles.
template <class A>
struct Product {
  const typename A::X* x;
  int64_t ldx;
  const typename A::W* w;
  int64_t ldw;
  const float* bias;
  float* y;
  int64_t ldy, K;
  int64_t apart = 1; // distance between the columns of a tile
};

template <int TT, int NN, class A>
inline void store_tile(const Product<A>& p, const Floats (&sums)[TT][NN], int64_t t, int64_t n) {
#pragma GCC unroll 8
  for (int i = 0; i < TT; i++) {
    float* y = p.y + (t + i) * p.ldy + n;
    float values[NN];
    if constexpr (NN % 4 == 0)
#pragma GCC unroll 2
      for (int j = 0; j < NN; j += 4) store_sums(values + j, sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]);
    else *values = sum(sums[i][0]);
    for (int j = 0; j < NN; j++) y[j * p.apart] = p.bias ? values[j] + p.bias[n + j * p.apart] : values[j];
  }
}

// Prefetches for column j of a tile at w + k.
template <Order ORDER, int NN, class A>
[[gnu::always_inline]] inline void prefetch_w(const Product<A>& p, const typename A::W* w, int64_t k, int j) {
  constexpr int64_t element = sizeof *w;
  if constexpr (ORDER == Order::spread) __builtin_prefetch(w + j * p.apart * p.ldw + k + SPREAD_AHEAD / element);
  else if (j * A::STEP * element % 64 == 0) __builtin_prefetch(w + NN * p.ldw + k * NN + j * A::STEP);
}

template <int TT, int NN, Order ORDER, class A>
inline void tile(const Product<A>& p, int64_t t, int64_t n) {
  static_assert(NN % 4 == 0 || NN == 1);
  const typename A::X* x = p.x + t * p.ldx;
  const typename A::W* w = p.w + n * p.ldw;
  Floats sums[TT][NN];
  for (int i = 0; i < TT; i++)
    for (int j = 0; j < NN; j++) sums[i][j] = set(0);

  const auto step = [&](int64_t k, auto... rest) {
    decltype(A::load_x(x)) rows[TT];
#pragma GCC unroll 8
    for (int i = 0; i < TT; i++) rows[i] = A::load_x(x + i * p.ldx + k, rest...);
#pragma GCC unroll 8
    for (int j = 0; j < NN; j++) {
      prefetch_w<ORDER, NN>(p, w, k, j);
      const auto column = A::load_w(w + j * p.apart * p.ldw + k, rest...);
#pragma GCC unroll 8
      for (int i = 0; i < TT; i++) sums[i][j] = A::add_product(rows[i], column, sums[i][j]);
    }
  };
  int64_t k = 0;
  for (; k + A::STEP <= p.K; k += A::STEP) step(k);
  if (k < p.K) step(k, p.K - k);
  store_tile<TT, NN>(p, sums, t, n);
}

// All rows with NN columns: n, n + p.apart, …
template <int TT, int NN, Order ORDER, class A>
inline void all_rows(const Product<A>& p, int64_t T, int64_t n) {
  int64_t t = 0;
  for (; t + TT <= T; t += TT) tile<TT, NN, ORDER>(p, t, n);
  if constexpr (TT > 4)
    for (; t + 4 <= T; t += 4) tile<4, NN, ORDER>(p, t, n);
  for (; t + 2 <= T; t += 2) tile<2, NN, ORDER>(p, t, n);
  for (; t < T; t++) tile<1, NN, ORDER>(p, t, n);
}

// All rows with all columns, NN at a time.
template <int TT, int NN, Order ORDER, class A>
inline void all_columns(Product<A> p, int64_t T, int64_t N) {
  const int64_t tiles = N / NN;
  p.apart = ORDER == Order::spread ? tiles : 1;
  for (int64_t i = 0; i < tiles; i++) all_rows<TT, NN, ORDER>(p, T, ORDER == Order::spread ? i : i * NN);
  for (int64_t n = tiles * NN; n < N; n++) all_rows<TT, 1, ORDER>(p, T, n);
}

// Columns of a tile of few rows: four rows of w are read faster from memory than eight (docs/performance.md, "F16 decoding on
// AVX2"). Registers of four floats need eight sums to keep the multipliers busy.
constexpr int NEXT_COLUMNS = LANES >= 8 ? 4 : 8;

// Few rows: w, from memory, is read once. More rows: a block of rows of x stays in L1 while all columns pass.
template <class A>
inline void multiply(Product<A> p, int64_t T, int64_t N) {
  constexpr int64_t few = 16, cached = 24 * 1024 / sizeof(typename A::X); // elements of x
  if (T == 1) return all_columns<1, NEXT_COLUMNS, Order::in_memory>(p, T, N);
  if (T <= few) return all_columns<TILE_T, TILE_N, Order::in_memory>(p, T, N);
  const int64_t fit = p.K > 0 ? cached / p.K / TILE_T * TILE_T : T;
  const int64_t rows = fit < TILE_T ? TILE_T : fit;
  for (; T > 0; T -= rows, p.x += rows * p.ldx, p.y += rows * p.ldy)
    all_columns<TILE_T, TILE_N, Order::spread>(p, T < rows ? T : rows, N);
}

} // namespace
} // namespace quern::QUERN_ISA
