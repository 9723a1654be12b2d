// Attention of few queries, as in decoding: keys and values are read where they lie, once for a tile of queries.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int FEW_QUERIES = REGISTERS >= 32 ? 4 : 2; // that share a load
constexpr int32_t TURN_KEYS = 8;

// scores[r][j] = q_r · k_j for RR queries and NN keys.
template <int RR, int NN, class T>
inline void dots(const float* q, const T* k, const int64_t* rows, int32_t d, float* scores) {
  Floats sums[RR][NN];
  for (int r = 0; r < RR; r++)
    for (int j = 0; j < NN; j++) sums[r][j] = set(0);

  each(d, [&](int64_t i, auto... rest) {
    Floats keys[NN];
#pragma GCC unroll 4
    for (int j = 0; j < NN; j++) keys[j] = load(k + rows[j] + i, rest...);
#pragma GCC unroll 4
    for (int r = 0; r < RR; r++) {
      const Floats query = load(q + r * d + i, rest...);
#pragma GCC unroll 4
      for (int j = 0; j < NN; j++) sums[r][j] = fma(query, keys[j], sums[r][j]);
    }
  });
#pragma GCC unroll 4
  for (int r = 0; r < RR; r++)
    if constexpr (NN == 4) store_sums(scores + r * ATTEND_KEYS, sums[r][0], sums[r][1], sums[r][2], sums[r][3]);
    else scores[r * ATTEND_KEYS] = sum(sums[r][0]);
}

// Calls tile<RR>(r) for RR queries from r on, until all have had their turn.
template <class F>
inline void each_tile(const Queries& s, F tile) {
  int32_t r = 0;
  for (; r + FEW_QUERIES <= s.count; r += FEW_QUERIES) tile.template operator()<FEW_QUERIES>(r);
  if (FEW_QUERIES > 2)
    for (; r + 2 <= s.count; r += 2) tile.template operator()<2>(r);
  if (r < s.count) tile.template operator()<1>(r);
}

// The scores, or the weights, of these keys times the scales of their rows.
template <class T>
inline void apply_scales(const Queries& s, const T* cache, const Keys& keys, Range some) {
  if constexpr (has_scale<T>)
    for (int32_t j = some.from; j < some.to; j++) {
      const float scale = scale_of(cache + keys.rows[j], s.d);
      for (int32_t r = 0; r < s.count; r++) s.rest[r * ATTEND_KEYS + j] *= scale;
    }
}

template <class T>
inline void score_some(const Attend& a, const Queries& s, const T* k, const Keys& keys, Range some, Ahead<T>& ahead) {
  const int64_t share = fair_share<T>(a, 4, (s.count + FEW_QUERIES - 1) / FEW_QUERIES);
  each_tile(s, [&]<int RR>(int32_t r) {
    const float* q = s.q + r * s.d;
    float* scores = s.rest + r * ATTEND_KEYS;
    int32_t j = some.from;
    for (; j + 4 <= some.to; j += 4) {
      ahead.fetch(share);
      dots<RR, 4>(q, k, keys.rows + j, s.d, scores + j);
    }
    for (; j < some.to; j++) dots<RR, 1>(q, k, keys.rows + j, s.d, scores + j);
  });
  apply_scales(s, k, keys, some);
}

template <class T>
inline void add_some_values(const Attend& a, const Queries& s, const T* v, const Keys& keys, Range some, Ahead<T>& ahead) {
  apply_scales(s, v, keys, some);
  const int64_t share = fair_share<T>(a, some.to - some.from, (s.count + FEW_QUERIES - 1) / FEW_QUERIES);
  each_tile(s, [&]<int RR>(int32_t r) {
    Range seen_by[RR];
    for (int i = 0; i < RR; i++) {
      const Range sees = seen(a, keys, r + i);
      seen_by[i] = {larger(some.from, sees.from), smaller(some.to, sees.to)};
    }
    ahead.fetch(share);
    add_seen_values(s, r, s.rest + r * ATTEND_KEYS, seen_by,
                    [&](int64_t j, int64_t c, auto... n) { return load(v + keys.rows[j] + c * LANES, n...); });
  });
}

template <class T>
inline void attend_few_to(const Attend& a) {
  const T* k = static_cast<const T*>(a.k_cache);
  const T* v = static_cast<const T*>(a.v_cache);
  const int64_t row = cache_row(a.type, a.head_dim);
  const Queries queries = open_queries(a, padded(a.head_dim)); // of the first head; their scores are in `rest`: [count, ATTEND_KEYS]
  each_block(a, [&](const Keys& keys) {
    Ahead<T> keys_ahead(a, keys, k, v, TURN_KEYS);
    take_turns<TURN_KEYS>(a, keys, [&](int32_t head, Range some) {
      score_some(a, of_head(queries, head), k + head * row, keys, some, keys_ahead);
    });
    for (int32_t head = 0; head < a.heads; head++) {
      const Queries s = of_head(queries, head);
      for (int32_t r = 0; r < s.count; r++) weigh_scores(a, s, r, s.rest + r * ATTEND_KEYS, seen(a, keys, r));
    }
    Ahead<T> values_ahead(a, keys, v, nullptr, TURN_KEYS);
    take_turns<TURN_KEYS>(a, keys, [&](int32_t head, Range some) {
      add_some_values(a, of_head(queries, head), v + head * row, keys, some, values_ahead);
    });
  });
  close_queries(a, queries);
}

} // namespace
} // namespace quern::QUERN_ISA
