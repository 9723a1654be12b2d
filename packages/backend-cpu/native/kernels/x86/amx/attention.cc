// Attention of many queries in tiles. Operands are rounded to bf16, or split in two bf16 parts with almost the precision of
// floats (halves.h). A row's result depends only on its keys: sums run over steps of 32 keys that start at multiples of 32;
// keys that a row does not see have weight zero.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"
#include "panels.h"

namespace quern::amx {

void attend_many_split(const Attend& args);
void attend_cached_bf16(const Attend& args);
void attend_many_bf16(const Attend& args);

namespace {

// bf16 parts of each operand: 1 or 2.
struct Parts {
  int q, k, weights, v;
};
template <class T>
constexpr int exact_parts = sizeof(T) == 4 || __is_same(T, uint16_t) ? 2 : 1; // of an element of a cache

// 2^t, relative error 2e-7: a polynomial over [0, 1). NaN passes.
inline Floats power_of_2(Floats t) {
  const Floats f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); // t - ⌊t⌋; 0 for an infinity
  Floats p = set(0.0018775766948238015f);
  p = fma(p, f, set(0.008989340625703335f));
  p = fma(p, f, set(0.05582631751894951f));
  p = fma(p, f, set(0.24015361070632935f));
  p = fma(p, f, set(0.6931530833244324f));
  p = fma(p, f, set(0.9999999403953552f));
  return times_power_of_2(p, t); // p · 2^⌊t⌋
}

// Rows of a tile, and the places that they see.
struct Sight {
  int32_t first = 0, rows = 0; // queries [first, first + rows)
  Range of[ROWS], all = {ATTEND_KEYS, 0};

  Sight() = default;
  Sight(const Attend& a, const Block& block, int32_t first, int32_t rows) : first(first), rows(rows) {
    for (int32_t i = 0; i < rows; i++) {
      const Range range = seen(a, block.keys, first + i);
      of[i] = range.empty() ? Range{0, 0} : Range{range.from + block.first, range.to + block.first};
      if (!range.empty()) all = {smaller(all.from, of[i].from), larger(all.to, of[i].to)};
    }
  }
  Range steps() const { return {int32_t(all.from / STEP), int32_t((all.to + STEP - 1) / STEP)}; }
  Range places() const { return {steps().from * int32_t(STEP), steps().to * int32_t(STEP)}; }
};

// A tile of queries with its scores, later its weights, over a block of keys.
struct Tile {
  Sight sight;
  float* scores = nullptr; // [ROWS, SCORES]
  // Progress of the weights:
  int32_t row = 0, place = -1; // the current row, the next place; -1: the row is not begun
  Floats base, total;          // of the current row: maximum, sums of weights

  Tile() = default;
  Tile(const Sight& sight, float* scores) : sight(sight), scores(scores) {}

  int32_t padded_rows() const { return sight.rows > TILE_LINES ? ROWS : TILE_LINES; }
  float* scores_of(int32_t i) const { return scores + i * SCORES; }
  bool weighed() const { return row >= padded_rows(); }
};

inline void fill(float* p, int64_t n, float x) {
  each(n, [&](int64_t i, auto... rest) { store(p + i, set(x), rest...); });
}

// Scales and caps scores of a row.
inline void finish_scores(const Attend& a, float* scores, Range places, const float* scales) {
  const Floats cap = set(a.soft_cap * LOG2_E);
  for (int32_t j = places.from; j < places.to; j += LANES) {
    Floats x = load(scores + j);
    if (scales) x = x * load(scales + j);
    if (a.soft_cap > 0) x = cap * tanh(x / cap);
    store(scores + j, x);
  }
}

// The maximum of a row, ignoring NaN; -INF in the places that the row does not see.
inline float highest_score(float* scores, Range places, Range seen) {
  fill(scores + places.from, seen.from - places.from, -INF);
  fill(scores + seen.to, places.to - seen.to, -INF);
  Floats even = set(-INF), odd = even;
  for (int32_t j = places.from; j < places.to; j += STEP) {
    even = max(load(scores + j), even);
    odd = max(load(scores + j + LANES), odd);
  }
  return largest(max(even, odd));
}

// Raises the maximum of query r; shrinks its earlier sums.
inline void raise_top(const Queries& s, int32_t r, float highest) {
  if (!(highest > s.top[r])) return;
  const Floats shrink = power_of_2(set(s.top[r] - highest));
  s.top[r] = highest;
  s.total[r] *= largest(shrink);
  float* const y = s.y + r * s.width;
  for (int64_t i = 0; i < s.width; i += LANES) store(y + i, load(y + i) * shrink);
}

// STEP scores from `place` on → weights as lines of products.h, in place.
template <bool SCALED, int PARTS>
inline void weigh_step(Tile& tile, float* scores, const float* scales) {
  Floats first = power_of_2(load(scores) - tile.base), second = power_of_2(load(scores + LANES) - tile.base);
  tile.total = tile.total + (first + second);
  if constexpr (SCALED) first = first * load(scales), second = second * load(scales + LANES);
  const Halves halves(first, second);
  auto* const lines = reinterpret_cast<uint8_t*>(scores);
  store_line(lines, halves.high);
  if constexpr (PARTS == 2) store_line(lines + TILE_LINE, halves.low);
}

// Dot product in floats of a query and a key.
template <class T>
inline float dot(const Attend& a, int32_t r, const T* k) {
  const float* const q = a.q + r / a.group * a.row_stride + r % a.group * int64_t{a.head_dim};
  Floats total = set(0);
  each(a.head_dim, [&](int64_t i, auto... n) { total = fma(load(q + i, n...), load(k + i, n...), total); });
  return sum(total);
}

template <class T>
inline void score_odd_keys(const Attend& a, const Tiled& m, const Block& block, const Tile& tile) {
  block.odd_keys.each([&](int32_t place) {
    const T* const k = static_cast<const T*>(a.k_cache) + block.row(place);
    for (int32_t i = 0; i < tile.sight.rows; i++) tile.scores_of(i)[place] = dot(a, tile.sight.first + i, k) * m.factor;
  });
}

// The weight in a row's lines.
template <int PARTS>
inline float weight_of(const float* lines, int32_t place) {
  const auto* const words = reinterpret_cast<const uint16_t*>(lines + place / STEP * STEP) + 2 * (place % LANES) + place % STEP / LANES;
  const uint32_t high = uint32_t(words[0]) << 16, low = PARTS == 2 ? uint32_t(words[STEP]) << 16 : 0;
  return __builtin_bit_cast(float, high) + __builtin_bit_cast(float, low);
}

// Only for the rows that see them.
template <class T, int PARTS>
inline void add_odd_values(const Attend& a, const Tiled& m, const Block& block, const Tile& tile) {
  const Queries& s = m.queries;
  const Sight& sight = tile.sight;
  block.odd_values.each([&](int32_t place) {
    const T* const v = static_cast<const T*>(a.v_cache) + block.row(place);
    for (int32_t i = 0; i < sight.rows; i++) {
      if (place < sight.of[i].from || place >= sight.of[i].to) continue;
      float weight = weight_of<PARTS>(tile.scores_of(i), place);
      if constexpr (has_scale<T>) weight *= scale_of(v, a.head_dim);
      float* const y = s.y + (sight.first + i) * s.width;
      each(a.head_dim, [&](int64_t at, auto... n) { store(y + at, fma(set(weight), load(v + at, n...), load(y + at, n...)), n...); });
    }
  });
}

// I · 16 queries, some of them padding, over a block of keys. aside: as in products.h.
template <Parts P, int I, class F>
inline void score_tile(const Tiled& m, const Tile& tile, F aside) {
  const Lines q = {reinterpret_cast<const uint8_t*>(m.queries.q + tile.sight.first * m.depth * STEP), m.depth * 2 * TILE_LINE};
  const int64_t step_bytes = P.k * TILE_BYTES, column_bytes = m.depth * step_bytes;
  const Range places = tile.sight.places();
  for (int32_t j = places.from; j < places.to; j += STEP) {
    const Columns k = {m.keys + j / LANES * column_bytes, column_bytes, step_bytes};
    multiply<false, I, 2, P.q, P.k>(q, k, m.depth, tile.scores + j, SCORES, aside);
  }
}

template <class T>
inline void begin_row(const Attend& a, const Tiled& m, Tile& tile) {
  const Range places = tile.sight.places(), seen = tile.sight.of[tile.row];
  const int32_t r = tile.sight.first + tile.row;
  float* const scores = tile.scores_of(tile.row);
  if (has_scale<T> || a.soft_cap > 0) finish_scores(a, scores, places, has_scale<T> ? m.key_scales : nullptr);
  raise_top(m.queries, r, highest_score(scores, places, seen));
  const float top = m.queries.top[r];
  tile.base = set(top == -INF ? 0 : top); // no key yet: 2^(-inf - 0) = 0; -inf - -inf would be NaN
  tile.total = set(0);
  tile.place = places.from;
}

// A little of the work from scores to weights: begins a row, or weighs STEP keys of a row.
template <class T, int PARTS>
[[gnu::noinline]] void weigh_some(const Attend& a, const Tiled& m, Tile& tile) {
  const Range places = tile.sight.places();
  float* const scores = tile.scores_of(tile.row);
  if (tile.row >= tile.sight.rows || tile.sight.of[tile.row].empty()) {
    fill(scores + places.from, places.to - places.from, 0);
    tile.row++;
  } else if (tile.place < 0) {
    begin_row<T>(a, m, tile);
  } else {
    weigh_step<has_scale<T>, PARTS>(tile, scores + tile.place, m.value_scales + tile.place);
    tile.place += STEP;
    if (tile.place < places.to) return;
    m.queries.total[tile.sight.first + tile.row] += sum(tile.total);
    tile.row++, tile.place = -1;
  }
}

template <Parts P, int I, class F>
inline void add_values(const Tiled& m, const Tile& tile, F aside) {
  const Queries& s = m.queries;
  const Range steps = tile.sight.steps();
  const Lines weights = {reinterpret_cast<const uint8_t*>(tile.scores + steps.from * STEP), SCORES * int64_t(sizeof(float))};
  const int64_t column_bytes = P.v * TILE_BYTES, step_bytes = m.columns * column_bytes;
  float* const y = s.y + tile.sight.first * s.width;
  const auto columns = [&]<int J>(int64_t c) {
    const Columns v = {m.values + steps.from * step_bytes + c * column_bytes, column_bytes, step_bytes};
    multiply<true, I, J, P.weights, P.v>(weights, v, steps.to - steps.from, y + c * LANES, s.width, aside);
  };
  int64_t c = 0;
  for (; c + 2 <= m.columns; c += 2) columns.template operator()<2>(c);
  if (c < m.columns) columns.template operator()<1>(c);
}

// The work on three tiles at a time: values for `last`, weights for `current`, scores for `next`. A tile without rows has no
// work.
template <class T, Parts P>
struct Pipeline {
  const Attend& a;
  const Tiled& m;
  const Block& block;
  Tile last, current, next;

  // Weighs `current` during the products of the others.
  void run() {
    const int64_t products =
        passes(P.weights, P.v) * steps(last) * ((m.columns + 1) / 2) + passes(P.q, P.k) * steps(next) * m.depth;
    const int32_t pieces = current.sight.rows * (steps(current) + 1);
    int64_t due = 0; // pieces, times `products`
    const auto aside = [&] {
      for (due += pieces; due >= products && !current.weighed(); due -= products) weigh_some<T, P.weights>(a, m, current);
    };
    if (last.sight.rows) add_to_y(aside);
    if (next.sight.rows) score(aside);
    if (current.sight.rows)
      while (!current.weighed()) weigh_some<T, P.weights>(a, m, current);
  }

 private:
  static int32_t steps(const Tile& tile) { return tile.sight.rows ? tile.sight.steps().to - tile.sight.steps().from : 0; }

  template <class F>
  void add_to_y(F aside) {
    if (last.padded_rows() > TILE_LINES) add_values<P, 2>(m, last, aside);
    else add_values<P, 1>(m, last, aside);
    add_odd_values<T, P.weights>(a, m, block, last);
  }

  template <class F>
  void score(F aside) {
    if (next.padded_rows() > TILE_LINES) score_tile<P, 2>(m, next, aside);
    else score_tile<P, 1>(m, next, aside);
    score_odd_keys<T>(a, m, block, next);
  }
};

// Memory of scores: that of `last` is free for `next`.
template <class T, Parts P>
inline void attend_block(const Attend& a, const Tiled& m, const Block& block) {
  Pipeline<T, P> work{a, m, block, {}, {}, {}};
  int32_t tiles = 0;
  const auto advance = [&] {
    work.run();
    work.last = work.current, work.current = work.next, work.next = Tile();
  };
  for (int32_t r = 0; r < m.queries.count; r += ROWS) {
    const Sight sight(a, block, r, smaller(m.queries.count - r, ROWS));
    if (sight.all.empty()) continue;
    work.next = Tile(sight, m.scores[tiles++ % 2]);
    advance();
  }
  advance();
  advance();
}

template <class T, Parts P>
inline void attend_in_tiles(const Attend& a) {
  const Tiled m = open_tiled(a);
  configure_all();
  each_block(a, [&](const Keys& keys) {
    Block block(keys);
    pack_keys<T, P.k>(a, m, block);
    pack_values<T, P.v>(a, m, block);
    attend_block<T, P>(a, m, block);
  });
  release();
  if (a.part || a.sinks)
    for (int32_t r = 0; r < m.queries.count; r++) m.queries.top[r] *= LN_2;
  close_queries(a, m.queries);
}

template <class T, int PARTS>
constexpr Parts with_values_in = {2, exact_parts<T>, PARTS, PARTS == 1 ? 1 : exact_parts<T>};

// PARTS: of the weights and values, 2 for almost the precision of floats.
template <int PARTS>
inline void attend_cached(const Attend& a) {
  switch (a.type) {
    case CACHE_F16: return attend_in_tiles<uint16_t, with_values_in<uint16_t, PARTS>>(a);
    case CACHE_BF16: return attend_in_tiles<Bf16, with_values_in<Bf16, PARTS>>(a);
    case CACHE_I8: return attend_in_tiles<int8_t, with_values_in<int8_t, PARTS>>(a);
    default: return attend_in_tiles<float, with_values_in<float, PARTS>>(a);
  }
}

} // namespace

void attend_many_split(const Attend& a) { attend_cached<2>(a); }

void attend_cached_bf16(const Attend& a) { attend_cached<1>(a); }

void attend_many_bf16(const Attend& a) { attend_in_tiles<float, Parts{1, 1, 1, 1}>(a); }

} // namespace quern::amx
