// Attention of few queries, as in decoding: keys and values are read where they lie, once for a tile of queries.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int FEW_QUERIES = REGISTERS >= 32 ? 4 : 2; // that share a load

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

// Rows of a block that are asked for ahead of time, into the second cache: the first can wait for too few lines at once to
// keep the memory busy. A row is too short, and the next too far away, for the machine to guess.
constexpr int32_t FETCH_AHEAD = 48;

template <class T> // g++ 12 takes a function of prefetches alone for one without effect and drops calls that it has not inlined yet
[[gnu::always_inline]] inline void fetch(const T* cache, const Keys& keys, int32_t j, int32_t d) {
  if (j >= keys.count) return;
  const char* row = reinterpret_cast<const char*>(cache + keys.rows[j]);
  for (int64_t at = 0; at < int64_t(d * sizeof(T)); at += 64) __builtin_prefetch(row + at, 0, 2);
}

// RR queries from r on over a block of keys.
template <int RR, class T>
inline void attend_in_place(const Attend& a, const Queries& s, int32_t r, const Keys& keys, float* scores) {
  const T* k = static_cast<const T*>(a.k_cache);
  const T* v = static_cast<const T*>(a.v_cache);
  const float* q = s.q + r * s.d;
  int32_t j = 0;
  for (; j + 4 <= keys.count; j += 4) {
    if (r == 0)
      for (int32_t i = j + FETCH_AHEAD; i < j + FETCH_AHEAD + 4; i++)
        i < keys.count ? fetch(k, keys, i, s.d) : fetch(v, keys, i - keys.count, s.d);
    dots<RR, 4>(q, k, keys.rows + j, s.d, scores + j);
  }
  for (; j < keys.count; j++) dots<RR, 1>(q, k, keys.rows + j, s.d, scores + j);

  Range seen_by[RR];
  for (int i = 0; i < RR; i++) {
    seen_by[i] = seen(a, keys, r + i);
    weigh_scores(a, s, r + i, scores + i * ATTEND_KEYS, seen_by[i]);
  }
  add_seen_values(s, r, scores, seen_by, [&](int64_t j, int64_t c, auto... n) {
    if (c == 0 && r == 0) fetch(v, keys, int32_t(j) + FETCH_AHEAD, s.d);
    return load(v + keys.rows[j] + c * LANES, n...);
  });
}

template <class T>
inline void attend_few_to(const Attend& a) {
  const Queries s = open_queries(a);
  each_block(a, [&](const Keys& keys) {
    int32_t r = 0;
    for (; r + FEW_QUERIES <= s.count; r += FEW_QUERIES) attend_in_place<FEW_QUERIES, T>(a, s, r, keys, s.rest);
    if (FEW_QUERIES > 2)
      for (; r + 2 <= s.count; r += 2) attend_in_place<2, T>(a, s, r, keys, s.rest);
    if (r < s.count) attend_in_place<1, T>(a, s, r, keys, s.rest);
  });
  close_queries(a, s);
}

} // namespace
} // namespace quern::QUERN_ISA
