// Weighted sums of rows of values, one register tile at a time.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Tile size: queries × columns of registers. Sums, one column and one weight fill the registers of an instruction set.
constexpr int TILE_QUERIES = 6, TILE_COLUMNS = REGISTERS >= 32 ? 4 : 2;
static_assert(TILE_QUERIES <= attend_tile);

// sums[r][c] += Σ_i a[r][i] · column(i, c), i in [from, to), in that order.
template <int RR, int CC, class F>
inline void add_products(const float* a, int64_t lda, int64_t from, int64_t to, F column, Floats (&sums)[RR][CC]) {
  for (int64_t i = from; i < to; i++) {
    Floats columns[CC];
#pragma GCC unroll 4
    for (int c = 0; c < CC; c++) columns[c] = column(i, c);
#pragma GCC unroll 8
    for (int r = 0; r < RR; r++) {
      const Floats weight = set(a[r * lda + i]);
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[r][c] = fma(weight, columns[c], sums[r][c]);
    }
  }
}

// y_r = shrink_r · y_r + Σ_j weights[r][j] · v_j for RR queries from r on and keys j of the range. values(j, c, n...):
// register c of v_j, or its first n elements.
template <int RR, class F>
inline void add_values(const Queries& s, int32_t r, const float* weights, Range keys, F values) {
  if (keys.empty()) return;
  const auto columns = [&]<int CC>(int64_t at, auto... n) {
    Floats sums[RR][CC];
    float* y = s.y + r * s.width + at * LANES;
#pragma GCC unroll 8
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[i][c] = load(y + i * s.width + c * LANES) * set(s.shrink[r + i]);
    add_products(weights, ATTEND_KEYS, keys.from, keys.to, [&](int64_t j, int c) { return values(j, at + c, n...); }, sums);
#pragma GCC unroll 8
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) store(y + i * s.width + c * LANES, sums[i][c]);
  };
  const int64_t whole = s.d / LANES;
  int64_t at = 0;
  for (; at + TILE_COLUMNS <= whole; at += TILE_COLUMNS) columns.template operator()<TILE_COLUMNS>(at);
  if (TILE_COLUMNS > 2)
    for (; at + 2 <= whole; at += 2) columns.template operator()<2>(at);
  for (; at < whole; at++) columns.template operator()<1>(at);
  if (at * LANES < s.d) columns.template operator()<1>(at, s.d - at * LANES);
  for (int i = 0; i < RR; i++) s.shrink[r + i] = 1;
}

// add_values with a separate key range per query: first the keys before the common range, then the common range, then the
// rest. So each query adds its keys in order.
template <int RR, class F>
inline void add_seen_values(const Queries& s, int32_t r, const float* weights, const Range (&seen)[RR], F values) {
  Range all = seen[0];
  for (int i = 1; i < RR; i++) all = {larger(all.from, seen[i].from), smaller(all.to, seen[i].to)};
  if (all.empty()) all = {0, 0};
  const auto alone = [&](int i, Range keys) { add_values<1>(s, r + i, weights + i * ATTEND_KEYS, keys, values); };
  if (RR > 1 && all.from > 0)
    for (int i = 0; i < RR; i++) alone(i, {seen[i].from, smaller(seen[i].to, all.from)});
  add_values<RR>(s, r, weights, all, values);
  if (RR > 1)
    for (int i = 0; i < RR; i++) alone(i, {larger(seen[i].from, all.to), seen[i].to});
}

} // namespace
} // namespace quern::QUERN_ISA
