// Products of matrices whose elements have one or two bf16 parts (halves.h), for attention.
#pragma once
#include "tile.h"

namespace quern::amx {
namespace {

constexpr int64_t STEP = 32; // elements of a tile line: of the sums per product

// The left matrix: per row, a line of each part for every STEP elements.
struct Lines {
  const uint8_t* at;
  int64_t row_bytes;

  static constexpr int64_t step_bytes = 2 * TILE_LINE;
  const uint8_t* of(int64_t row_tile, int64_t step, int part) const {
    return at + row_tile * TILE_LINES * row_bytes + step * step_bytes + part * TILE_LINE;
  }
};

// The right matrix: tiles of 16 columns and STEP elements, the parts of a tile side by side.
struct Columns {
  const uint8_t* at;
  int64_t column_bytes, step_bytes;

  const uint8_t* of(int64_t column, int64_t step, int part) const {
    return at + column * column_bytes + step * step_bytes + part * TILE_BYTES;
  }
};

// Registers: sums 0 … 3 (2 · i + j), lines 4 + i, columns 6 + j.
constexpr int A = 4, B = 6;

inline void configure_all() {
  TileConfig config;
  for (int tile = 0; tile < 8; tile++) config.set(tile, TILE_LINES);
  configure(config);
}

template <int I>
inline void load_lines(const Lines& a, int64_t step, int part) {
  load<A>(a.of(0, step, part), a.row_bytes);
  if constexpr (I == 2) load<A + 1>(a.of(1, step, part), a.row_bytes);
}
template <int J>
inline void load_columns(const Columns& b, int64_t step, int part) {
  load<B>(b.of(0, step, part), TILE_LINE);
  if constexpr (J == 2) load<B + 1>(b.of(1, step, part), TILE_LINE);
}
template <int I, int J>
inline void add_all() {
  add_products_bf16<0, A, B>();
  if constexpr (J == 2) add_products_bf16<1, A, B + 1>();
  if constexpr (I == 2) add_products_bf16<2, A + 1, B>();
  if constexpr (I == 2 && J == 2) add_products_bf16<3, A + 1, B + 1>();
}

// Products of a with b per step, in units of I · J.
constexpr int passes(int pa, int pb) { return pa + pb - 1; }

// Calls f<register>(row tile, column) for every sum.
template <int I, int J, class F>
inline void each_sum(F f) {
  f.template operator()<0>(0, 0);
  if constexpr (J == 2) f.template operator()<1>(0, 1);
  if constexpr (I == 2) f.template operator()<2>(1, 0);
  if constexpr (I == 2 && J == 2) f.template operator()<3>(1, 1);
}

// y = a · b, or y += a · b if ADD, for 16 · I rows and 16 · J columns. PA, PB: parts of a and b. aside(): a little other work,
// which the processor does during the products; called after every I · J products.
template <bool ADD, int I, int J, int PA, int PB, class F>
inline void multiply(const Lines& a, const Columns& b, int64_t steps, float* y, int64_t ldy, F aside) {
  const int64_t row_bytes = ldy * int64_t(sizeof(float));
  const auto sums = [&](int64_t i, int64_t j) { return y + i * TILE_LINES * ldy + j * LANES; };
  each_sum<I, J>([&]<int sum>(int64_t i, int64_t j) {
    if constexpr (ADD) load<sum>(sums(i, j), row_bytes);
    else zero<sum>();
  });
  for (int64_t step = 0; step < steps; step++) {
    load_lines<I>(a, step, 0);
    if constexpr (PB == 2) {
      load_columns<J>(b, step, 1);
      add_all<I, J>();
      aside();
    }
    load_columns<J>(b, step, 0);
    add_all<I, J>();
    aside();
    if constexpr (PA == 2) {
      load_lines<I>(a, step, 1);
      add_all<I, J>();
      aside();
    }
  }
  each_sum<I, J>([&]<int sum>(int64_t i, int64_t j) { store<sum>(sums(i, j), row_bytes); });
}

} // namespace
} // namespace quern::amx
