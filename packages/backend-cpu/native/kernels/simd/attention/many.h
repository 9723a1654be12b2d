// Attention of many queries: unpacks a block of keys and a block of values into panels; tiles of queries use the panels.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// Elements [at, at + LANES) of a head in the cache; with n: only n elements.
template <class T, class... N>
inline Floats elements(const T* head, int32_t d, int64_t at, N... n) {
  const Floats x = load(head + at, n...);
  if constexpr (has_scale<T>) return x * set(scale_of(head, d));
  else return x;
}

// Elements [at, at + LANES) of LANES keys from j on, transposed into their column: [d, LANES].
template <class T, class... N>
inline void pack_square(const T* k, const Keys& keys, int32_t d, int32_t j, int32_t at, float* column, N... n) {
  const int count = smaller(LANES, keys.count - j);
  Floats square[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) square[i] = i < count ? elements(k + keys.rows[j + i], d, at, n...) : set(0);
  transpose(square);
  const int rows = smaller(LANES, d - at);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++)
    if (i < rows) store(column + (at + i) * LANES, square[i]);
}

// The panel of a block's keys: one column, one register wide, per LANES keys.
template <class T>
inline void pack_keys(const Attend& a, const Keys& keys, float* panel) {
  const T* k = static_cast<const T*>(a.k_cache);
  for (int32_t j = 0; j < keys.count; j += LANES) {
    float* column = panel + int64_t(j) * a.head_dim;
    int32_t at = 0;
    for (; at + LANES <= a.head_dim; at += LANES) pack_square(k, keys, a.head_dim, j, at, column);
    if (at < a.head_dim) pack_square(k, keys, a.head_dim, j, at, column, int64_t(a.head_dim - at));
  }
}

// The panel of a block's values as floats: one column [ATTEND_KEYS, LANES] per LANES elements of the head.
struct FloatValues {
  float* panel;

  template <class T>
  void pack(const Attend& a, const Keys& keys) const {
    for (int32_t j = 0; j < keys.count; j++) {
      const T* v = static_cast<const T*>(a.v_cache) + keys.rows[j];
      each(a.head_dim, [&](int64_t at, auto... n) {
        store(panel + at * ATTEND_KEYS + j * LANES, elements(v, a.head_dim, at, n...));
      });
    }
  }

  template <int RR>
  void add(const Queries& s, int32_t r, float* weights, const Range (&seen)[RR]) const {
    add_seen_values(s, r, weights, seen,
                    [&](int64_t j, int64_t c, auto...) { return load(panel + (c * ATTEND_KEYS + j) * LANES); });
  }
};

// scores[r][j] = q_r · k_j for RR queries and the columns that cover the range of keys.
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

// RR queries from r on, over one block of keys.
template <int RR, class Values>
inline void attend_tile_of(const Attend& a, const Queries& s, int32_t r, const Keys& keys, const float* key_panel,
                           const Values& values, float* scores) {
  Range seen_by[RR], any = {keys.count, 0};
  for (int i = 0; i < RR; i++) {
    seen_by[i] = seen(a, keys, r + i);
    if (!seen_by[i].empty()) any = {smaller(any.from, seen_by[i].from), larger(any.to, seen_by[i].to)};
  }
  if (any.empty()) return;
  score<RR>(s, r, key_panel, any, scores);
  for (int i = 0; i < RR; i++) weigh_scores(a, s, r + i, scores + i * ATTEND_KEYS, seen_by[i]);
  values.add(s, r, scores, seen_by);
}

// `Values`: the layout of a panel of values, and the weighted sums of its rows.
template <class T, class Values>
inline void attend_many_to(const Attend& a) {
  const Queries s = open_queries(a);
  float* scores = s.rest;
  float* key_panel = scores + attend_tile * ATTEND_KEYS;
  const Values values{key_panel + ATTEND_KEYS * s.d};
  each_block(a, [&](const Keys& keys) {
    pack_keys<T>(a, keys, key_panel);
    values.template pack<T>(a, keys);
    const auto tile = [&]<int RR>(int32_t r) { attend_tile_of<RR>(a, s, r, keys, key_panel, values, scores); };
    int32_t r = 0;
    for (; r + TILE_QUERIES <= s.count; r += TILE_QUERIES) tile.template operator()<TILE_QUERIES>(r);
    for (; r + 4 <= s.count; r += 4) tile.template operator()<4>(r);
    for (; r + 2 <= s.count; r += 2) tile.template operator()<2>(r);
    if (r < s.count) tile.template operator()<1>(r);
  });
  close_queries(a, s);
}

template <class Values>
inline void attend_many_with(const Attend& a) {
  switch (a.type) {
    case CACHE_F16: return attend_many_to<uint16_t, Values>(a);
    case CACHE_BF16: return attend_many_to<Bf16, Values>(a);
    case CACHE_I8: return attend_many_to<int8_t, Values>(a);
    default: return attend_many_to<float, Values>(a);
  }
}

} // namespace
} // namespace quern::QUERN_ISA
