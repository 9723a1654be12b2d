// Attention of few queries, as in decode: keys and values are read in place, once per tile of queries.
#pragma once

namespace quern::QUERN_ISA {
namespace {

constexpr int FEW_QUERIES = REGISTERS >= 32 ? 4 : 2; // queries that share a load of keys

// Keys (later values) that one head reads before the next head's turn. Within a slot, all heads are adjacent; the next slot
// is one slot further. Taking turns reads memory in order; the pieces of all heads stay in the cache.
constexpr int32_t TURN_KEYS = 8;

// What a head prefetches during its turn: as many elements as it reads, in order of memory. Another order, or one burst per
// turn, is slower (docs/performance.md).
template <class T>
struct Ahead {
  const T* next;
  int64_t mask; // 0: the turn has no such elements

  // Element `at`, if it begins a line. always_inline: g++ 12 treats a function of only prefetches as free of side effects, and
  // drops calls before inlining.
  [[gnu::always_inline]] void fetch(int64_t at) const {
    if (at % int64_t(64 / sizeof(T)) == 0) __builtin_prefetch(next + (at & mask));
  }
};

// Prefetches these slots, some of the heads of each.
template <class T>
[[gnu::always_inline]] inline void prefetch_slots(const Attend& a, const T* cache, const Keys& keys, Range slots) {
  for (int32_t j = slots.from; j < smaller(slots.to, keys.count); j++) {
    const char* slot = reinterpret_cast<const char*>(cache + keys.rows[j]);
    for (int64_t at = 0; at < int64_t(a.heads * cache_row(a.type, a.head_dim) * sizeof(T)); at += 64) __builtin_prefetch(slot + at);
  }
}

// Calls body(head, some, ahead) for every head with the first TURN_KEYS keys of a block, then with the next, and so on.
// `after`: slots that are read after the block; or null.
template <class T, class F>
inline void take_turns(const Attend& a, const Keys& keys, const T* cache, const T* after, F body) {
  const int64_t turn = TURN_KEYS * cache_row(a.type, a.head_dim); // elements of a head
  for (int32_t j = 0; j < keys.count; j += TURN_KEYS) {
    const int32_t next = j + TURN_KEYS;
    const T* slots = a.heads < a.kv_heads ? nullptr : next < keys.count ? cache + keys.rows[next] : after;
    if (!slots) prefetch_slots(a, cache, keys, {next, next + TURN_KEYS});
    for (int32_t head = 0; head < a.heads; head++) {
      const Ahead<T> ahead = slots ? Ahead<T>{slots + head * turn, -1} : Ahead<T>{cache + keys.rows[j], 0};
      body(head, Range{j, smaller(next, keys.count)}, ahead);
    }
  }
}

// scores[r][j] = q_r · k_j for RR queries and NN keys. ahead: elements [at, at + NN · d).
template <int RR, int NN, class T>
inline void dots(const float* q, const T* k, const int64_t* rows, int32_t d, float* scores, const Ahead<T>& ahead,
                 int64_t at) {
  Floats sums[RR][NN];
  for (int r = 0; r < RR; r++)
    for (int j = 0; j < NN; j++) sums[r][j] = set(0);

  each(d, [&](int64_t i, auto... rest) {
    Floats keys[NN];
#pragma GCC unroll 4
    for (int j = 0; j < NN; j++) {
      ahead.fetch(at + i * NN + j * LANES);
      keys[j] = load(k + rows[j] + i, rest...);
    }
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

// Calls tile<RR>(r) for all queries, RR queries from r on at a time.
template <class F>
inline void each_tile(const Queries& s, F tile) {
  int32_t r = 0;
  for (; r + FEW_QUERIES <= s.count; r += FEW_QUERIES) tile.template operator()<FEW_QUERIES>(r);
  if (FEW_QUERIES > 2)
    for (; r + 2 <= s.count; r += 2) tile.template operator()<2>(r);
  if (r < s.count) tile.template operator()<1>(r);
}

// Multiplies the scores or weights of these keys by the scales of their rows.
template <class T>
inline void apply_scales(const Queries& s, const T* cache, const Keys& keys, Range some) {
  if constexpr (has_scale<T>)
    for (int32_t j = some.from; j < some.to; j++) {
      const float scale = scale_of(cache + keys.rows[j], s.d);
      for (int32_t r = 0; r < s.count; r++) s.rest[r * ATTEND_KEYS + j] *= scale;
    }
}

template <class T>
inline void score_some(const Attend& a, const Queries& s, const T* k, const Keys& keys, Range some, const Ahead<T>& ahead) {
  const int64_t row = cache_row(a.type, a.head_dim);
  each_tile(s, [&]<int RR>(int32_t r) {
    const float* q = s.q + r * s.d;
    float* scores = s.rest + r * ATTEND_KEYS;
    int32_t j = some.from;
    for (; j + 4 <= some.to; j += 4) dots<RR, 4>(q, k, keys.rows + j, s.d, scores + j, ahead, (j - some.from) * row);
    for (; j < some.to; j++) dots<RR, 1>(q, k, keys.rows + j, s.d, scores + j, ahead, (j - some.from) * row);
  });
  apply_scales(s, k, keys, some);
}

template <class T>
inline void add_some_values(const Attend& a, const Queries& s, const T* v, const Keys& keys, Range some,
                            const Ahead<T>& ahead) {
  apply_scales(s, v, keys, some);
  each_tile(s, [&]<int RR>(int32_t r) {
    Range seen_by[RR];
    for (int i = 0; i < RR; i++) {
      const Range sees = seen(a, keys, r + i);
      seen_by[i] = {larger(some.from, sees.from), smaller(some.to, sees.to)};
    }
    add_seen_values(s, r, s.rest + r * ATTEND_KEYS, seen_by,
                    [&](int64_t j, int64_t c, auto... n) { // columns [c, c + TILE_COLUMNS) of all keys, then the next columns
                      const int64_t tile = c / TILE_COLUMNS * TURN_KEYS + (j - some.from);
                      ahead.fetch((tile * TILE_COLUMNS + c % TILE_COLUMNS) * LANES);
                      return load(v + keys.rows[j] + c * LANES, n...);
                    });
  });
}

template <class T>
inline void attend_few_to(const Attend& a) {
  const T* k = static_cast<const T*>(a.k_cache);
  const T* v = static_cast<const T*>(a.v_cache);
  const int64_t row = cache_row(a.type, a.head_dim);
  const Queries queries = open_queries(a); // of the first head; `rest`: scores [count, ATTEND_KEYS]
  each_block(a, [&](const Keys& keys) {
    take_turns(a, keys, k, v + keys.rows[0], [&](int32_t head, Range some, const Ahead<T>& ahead) {
      score_some(a, of_head(queries, head), k + head * row, keys, some, ahead);
    });
    for (int32_t head = 0; head < a.heads; head++) {
      const Queries s = of_head(queries, head);
      for (int32_t r = 0; r < s.count; r++) weigh_scores(a, s, r, s.rest + r * ATTEND_KEYS, seen(a, keys, r));
    }
    const int32_t next = keys.first + keys.count; // often the next call's
    const T* next_k = next <= a.position ? k + row_of(a, next) : nullptr;
    take_turns(a, keys, v, next_k, [&](int32_t head, Range some, const Ahead<T>& ahead) {
      add_some_values(a, of_head(queries, head), v + head * row, keys, some, ahead);
    });
  });
  close_queries(a, queries);
}

} // namespace
} // namespace quern::QUERN_ISA
