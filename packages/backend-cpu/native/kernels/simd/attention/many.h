// Attention of many queries: a block of keys and one of values are unpacked into panels, and tiles of queries pass over them.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// A panel is made of columns, each one register wide: [length, LANES].
struct Panels {
  float* keys;   // a column for LANES keys, of d elements each
  float* values; // a column for LANES elements of the head, of ATTEND_KEYS keys
};

// LANES keys from j on, `at` being LANES elements of the head or, with n, its last n.
template <class T, class... N>
inline void pack_square(const Attend& a, const Keys& keys, const Panels& panels, int32_t j, int32_t at, N... n) {
  const T* k = static_cast<const T*>(a.k_cache);
  const T* v = static_cast<const T*>(a.v_cache);
  const auto value = [&](const T* row) {
    const Floats elements = load(row + at, n...);
    if constexpr (has_scale<T>) return elements * set(scale_of(row, a.head_dim));
    else return elements;
  };
  const int count = smaller(LANES, keys.count - j);
  float* values = panels.values + at * ATTEND_KEYS + j * LANES;
  Floats square[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) square[i] = i < count ? value(k + keys.rows[j + i]) : set(0);
  for (int i = 0; i < count; i++) store(values + i * LANES, value(v + keys.rows[j + i]));
  transpose(square);
  float* column = panels.keys + int64_t(j) * a.head_dim + at * LANES;
  const int elements = smaller(LANES, a.head_dim - at);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++)
    if (i < elements) store(column + i * LANES, square[i]);
}

template <class T>
inline void pack(const Attend& a, const Keys& keys, const Panels& panels) {
  for (int32_t j = 0; j < keys.count; j += LANES) {
    int32_t at = 0;
    for (; at + LANES <= a.head_dim; at += LANES) pack_square<T>(a, keys, panels, j, at);
    if (at < a.head_dim) pack_square<T>(a, keys, panels, j, at, int64_t(a.head_dim - at));
  }
}

// scores[r][j] = q_r · k_j for RR queries and the columns of keys that hold the range.
template <int RR>
inline void score(const Queries& s, int32_t r, const float* panel, Range keys, float* scores) {
  const auto columns = [&]<int CC>(int32_t column) {
    Floats sums[RR][CC];
    for (int i = 0; i < RR; i++)
      for (int c = 0; c < CC; c++) sums[i][c] = set(0);
    const float* k = panel + int64_t(column) * s.d * LANES;
    add_products(s.q + int64_t(r) * s.d, s.d, 0, s.d,
                 [&](int64_t i, int c) { return load(k + (int64_t(c) * s.d + i) * LANES); }, sums);
    for (int i = 0; i < RR; i++)
      for (int c = 0; c < CC; c++) store(scores + i * ATTEND_KEYS + (column + c) * LANES, sums[i][c]);
  };
  const int32_t end = (keys.to + LANES - 1) / LANES;
  int32_t column = keys.from / LANES;
  for (; column + TILE_COLUMNS <= end; column += TILE_COLUMNS) columns.template operator()<TILE_COLUMNS>(column);
  for (; column < end; column++) columns.template operator()<1>(column);
}

// RR queries from r on over a block of keys.
template <int RR>
inline void attend_tile_of(const Attend& a, const Queries& s, int32_t r, const Keys& keys, const Panels& panels, float* scores) {
  Range seen_by[RR], any = {keys.count, 0};
  for (int i = 0; i < RR; i++) {
    seen_by[i] = seen(a, keys, r + i);
    if (!seen_by[i].empty()) any = {smaller(any.from, seen_by[i].from), larger(any.to, seen_by[i].to)};
  }
  if (any.empty()) return;
  score<RR>(s, r, panels.keys, any, scores);
  for (int i = 0; i < RR; i++) weigh_scores(a, s, r + i, scores + i * ATTEND_KEYS, seen_by[i]);
  add_seen_values(s, r, scores, seen_by,
                  [&](int64_t j, int64_t c, auto...) { return load(panels.values + (c * ATTEND_KEYS + j) * LANES); });
}

template <class T>
inline void attend_many_to(const Attend& a) {
  const Queries s = open_queries(a, padded(a.head_dim));
  float* scores = s.rest;
  float* k = scores + attend_tile * ATTEND_KEYS;
  const Panels panels = {k, k + ATTEND_KEYS * s.d};
  each_block(a, [&](const Keys& keys) {
    pack<T>(a, keys, panels);
    int32_t r = 0;
    for (; r + TILE_QUERIES <= s.count; r += TILE_QUERIES) attend_tile_of<TILE_QUERIES>(a, s, r, keys, panels, scores);
    for (; r + 4 <= s.count; r += 4) attend_tile_of<4>(a, s, r, keys, panels, scores);
    for (; r + 2 <= s.count; r += 2) attend_tile_of<2>(a, s, r, keys, panels, scores);
    if (r < s.count) attend_tile_of<1>(a, s, r, keys, panels, scores);
  });
  close_queries(a, s);
}

} // namespace
} // namespace quern::QUERN_ISA
