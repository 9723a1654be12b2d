// Attention of many queries in tiles. Operands are rounded to bf16, or split in two bf16 parts with almost the precision of
// floats (halves.h). A row's result depends only on its keys: sums run over steps of 32 keys that start at multiples of 32;
// keys that a row does not see have weight zero.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"
#include "halves.h"
#include "products.h"

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

constexpr float LOG2_E = 1.44269504088896340736f, LN_2 = 0.693147180559945309417f;
constexpr int32_t ROWS = 2 * TILE_LINES; // queries of a step
constexpr int32_t SCORES = ATTEND_KEYS + 16; // floats of a row of scores

// Memory of a call. Queries are padded to whole tiles. Scores are exponents of 2.
struct Tiled {
  Queries queries;       // q [count, depth]: the lines of products.h, times `factor`
  uint8_t *keys, *values; // panels: tiles [16 keys][depth], [STEP keys][columns]
  float* scores;         // [ROWS, SCORES]
  float *key_scales, *value_scales; // [ATTEND_KEYS], int8 caches
  int64_t depth, columns; // of a head: STEPs, registers
  float factor;           // of dot products
};

inline int64_t rounded_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

inline Tiled divide_scratch(const Attend& a) {
  const int32_t count = a.rows * a.group;
  const int64_t depth = rounded_up(a.head_dim, STEP) / STEP, width = padded(a.head_dim), rows = rounded_up(count, TILE_LINES);
  auto* next = reinterpret_cast<float*>(rounded_up(int64_t(a.scratch), TILE_LINE));
  const auto take = [&](int64_t floats) { return (next += floats) - floats; };
  float* const q = take(rows * depth * STEP);
  float* const y = take(rows * width);
  float* const top = take(rows);
  float* const total = take(rows);
  const Queries queries = {count, a.head_dim, width, q, y, top, total, take(rows), nullptr};
  auto* const keys = reinterpret_cast<uint8_t*>(take(ATTEND_KEYS * depth * STEP));
  auto* const values = reinterpret_cast<uint8_t*>(take(ATTEND_KEYS * width));
  float* const scores = take(ROWS * SCORES);
  float* const key_scales = take(ATTEND_KEYS);
  return {queries, keys, values, scores, key_scales, take(ATTEND_KEYS), depth, width / LANES, a.scale * LOG2_E};
}

// The first n elements from p on, then zeros.
template <class T>
inline Floats elements_or_zero(const T* p, int64_t n) {
  return n >= LANES ? load(p) : n > 0 ? load(p, n) : set(0);
}

inline void store_line(uint8_t* to, __m512i line) { _mm512_store_si512(to, line); }

inline Floats quiet(Floats x) { return _mm512_mask_mov_ps(x, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), set(__builtin_nanf(""))); }

inline void split_query(const Attend& a, const Tiled& m, int32_t r) {
  const float* const q = a.q + r / a.group * a.row_stride + r % a.group * int64_t{a.head_dim};
  auto* lines = reinterpret_cast<uint8_t*>(m.queries.q + r * m.depth * STEP);
  const Floats factor = set(m.factor);
  for (int64_t at = 0; at < a.head_dim; at += STEP, lines += 2 * TILE_LINE) {
    const Floats first = elements_or_zero(q + at, a.head_dim - at), second = elements_or_zero(q + at + LANES, a.head_dim - at - LANES);
    const Halves halves(quiet(first * factor), quiet(second * factor));
    store_line(lines, halves.high);
    store_line(lines + TILE_LINE, halves.low);
  }
}

inline void clear(float* p, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) store(p + i, set(0));
}

inline Tiled open_tiled(const Attend& a) {
  const Tiled m = divide_scratch(a);
  const Queries& s = m.queries;
  const int64_t rows = rounded_up(s.count, TILE_LINES);
  clear(s.q + s.count * m.depth * STEP, (rows - s.count) * m.depth * STEP);
  clear(s.y, rows * s.width);
  for (int32_t r = 0; r < s.count; r++) {
    split_query(a, m, r);
    s.top[r] = -INF, s.total[r] = 0;
  }
  return m;
}

// A set of keys of a block.
struct KeySet {
  uint64_t bits[ATTEND_KEYS / 64] = {};

  void add(int32_t j) { bits[j / 64] |= uint64_t{1} << j % 64; }
  template <class F>
  void each(F f) const {
    for (int32_t i = 0; i < ATTEND_KEYS / 64; i++)
      for (uint64_t left = bits[i]; left; left &= left - 1) f(i * 64 + __builtin_ctzll(left));
  }
};

// A block of keys. The place of a key: its position in the sequence modulo ATTEND_KEYS.
struct Block {
  const Keys& keys;
  int32_t first;             // place of the first key
  KeySet odd_keys, odd_values; // keys (by place) with elements that tiles cannot multiply: not finite, or beyond bf16

  explicit Block(const Keys& keys) : keys(keys), first(int32_t(keys.first % ATTEND_KEYS)) {}
  bool has(int32_t place) const { return place >= first && place < first + keys.count; }
  int64_t row(int32_t place) const { return keys.rows[place - first]; }
  Range steps() const { return {int32_t(first / STEP), int32_t((first + keys.count + STEP - 1) / STEP)}; }
};

inline bool is_nan(Floats x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0; }

// The keys with an element that two bf16 cannot represent.
template <class T>
inline KeySet find_odd(const T* cache, const Block& block, int64_t d) {
  KeySet odd;
  for (int32_t place = block.first; block.has(place); place++) {
    Floats check = set(0);
    for (int64_t at = 0; at < d; at += LANES)
      check = Halves(elements_or_zero(cache + block.row(place) + at, d - at), set(0)).check(check);
    if (is_nan(check)) odd.add(place);
  }
  return odd;
}

inline void transpose_tile(uint8_t* tile) {
  auto* const lines = reinterpret_cast<float*>(tile);
  Floats square[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) square[i] = load(lines + i * LANES);
  transpose(square);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) store(lines + i * LANES, square[i]);
}

// STEP elements of 16 keys from `place` on.
template <class T, int PARTS>
inline Floats pack_key_tile(const T* k, const Block& block, int32_t place, int64_t d, uint8_t* tile, Floats check) {
  for (int i = 0; i < LANES; i++, place++) {
    const bool has = block.has(place);
    const T* const key = has ? k + block.row(place) : k;
    const Halves halves(elements_or_zero(key, has ? d : 0), elements_or_zero(key + LANES, has ? d - LANES : 0));
    store_line(tile + i * TILE_LINE, halves.high);
    if constexpr (PARTS == 2) store_line(tile + TILE_BYTES + i * TILE_LINE, halves.low);
    check = halves.check(check);
  }
  transpose_tile(tile);
  if constexpr (PARTS == 2) transpose_tile(tile + TILE_BYTES);
  return check;
}

template <class T, int PARTS>
inline void pack_keys(const Attend& a, const Tiled& m, Block& block) {
  const auto* const k = static_cast<const T*>(a.k_cache);
  const Range steps = block.steps();
  Floats check = set(0);
  for (int32_t place = steps.from * int32_t(STEP); place < steps.to * STEP; place += LANES)
    for (int64_t i = 0; i < m.depth; i++)
      check = pack_key_tile<T, PARTS>(k + i * STEP, block, place, a.head_dim - i * STEP,
                                      m.keys + (place / LANES * m.depth + i) * PARTS * TILE_BYTES, check);
  if (is_nan(check)) block.odd_keys = find_odd(k, block, a.head_dim);
  if constexpr (has_scale<T>)
    for (int32_t place = block.first; block.has(place); place++) m.key_scales[place] = scale_of(k + block.row(place), a.head_dim);
}

// Line i of the tiles of a step: values i and i + 16.
template <class T, int PARTS>
inline Floats pack_value_lines(const T* first, const T* second, int64_t d, uint8_t* line, Floats check) {
  for (int64_t at = 0; at < d; at += LANES, line += PARTS * TILE_BYTES) {
    const Halves halves(first ? elements_or_zero(first + at, d - at) : set(0), second ? elements_or_zero(second + at, d - at) : set(0));
    store_line(line, halves.high);
    if constexpr (PARTS == 2) store_line(line + TILE_BYTES, halves.low);
    check = halves.check(check);
  }
  return check;
}

// Zeros in place of a value.
template <int PARTS>
inline void erase_value(const Tiled& m, int32_t place) {
  auto* words = reinterpret_cast<uint16_t*>(m.values + place / STEP * m.columns * PARTS * TILE_BYTES + place % LANES * TILE_LINE);
  words += place % STEP / LANES;
  for (int64_t tile = 0; tile < m.columns * PARTS; tile++, words += TILE_BYTES / 2)
    for (int i = 0; i < LANES; i++) words[2 * i] = 0;
}

inline void load_value_scales(const Attend& a, const Tiled& m, Block& block) {
  const auto* const v = static_cast<const int8_t*>(a.v_cache);
  for (int32_t place = 0; place < ATTEND_KEYS; place++) {
    const float scale = block.has(place) ? scale_of(v + block.row(place), a.head_dim) : 0;
    const bool finite = scale - scale == 0;
    m.value_scales[place] = finite ? scale : 1;
    if (!finite) block.odd_values.add(place);
  }
}

template <class T, int PARTS>
inline void pack_values(const Attend& a, const Tiled& m, Block& block) {
  const auto* const v = static_cast<const T*>(a.v_cache);
  const Range steps = block.steps();
  const auto value = [&](int32_t place) { return block.has(place) ? v + block.row(place) : nullptr; };
  Floats check = set(0);
  for (int32_t step = steps.from; step < steps.to; step++)
    for (int32_t i = 0; i < LANES; i++) {
      const int32_t place = step * int32_t(STEP) + i;
      uint8_t* const line = m.values + step * m.columns * PARTS * TILE_BYTES + i * TILE_LINE;
      check = pack_value_lines<T, PARTS>(value(place), value(place + LANES), a.head_dim, line, check);
    }
  if (is_nan(check)) block.odd_values = find_odd(v, block, a.head_dim);
  if constexpr (has_scale<T>) load_value_scales(a, m, block);
  block.odd_values.each([&](int32_t place) { erase_value<PARTS>(m, place); });
}

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
  int32_t first, rows; // queries [first, first + rows)
  Range of[ROWS], all;

  Sight(const Attend& a, const Block& block, int32_t first, int32_t rows) : first(first), rows(rows), all{ATTEND_KEYS, 0} {
    for (int32_t i = 0; i < rows; i++) {
      const Range range = seen(a, block.keys, first + i);
      of[i] = range.empty() ? Range{0, 0} : Range{range.from + block.first, range.to + block.first};
      if (!range.empty()) all = {smaller(all.from, of[i].from), larger(all.to, of[i].to)};
    }
  }
  Range steps() const { return {int32_t(all.from / STEP), int32_t((all.to + STEP - 1) / STEP)}; }
  Range places() const { return {steps().from * int32_t(STEP), steps().to * int32_t(STEP)}; }
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

// Scores of a row → weights as lines of products.h, in place. Adds the weights to the query's total.
template <bool SCALED>
inline void weigh(const Queries& s, int32_t r, float* scores, Range places, const float* scales) {
  const Floats base = set(s.top[r] == -INF ? 0 : s.top[r]);
  Floats even = set(0), odd = set(0);
  for (int32_t j = places.from; j < places.to; j += STEP) {
    Floats first = power_of_2(load(scores + j) - base), second = power_of_2(load(scores + j + LANES) - base);
    even = even + first, odd = odd + second;
    if constexpr (SCALED) first = first * load(scales + j), second = second * load(scales + j + LANES);
    const Halves halves(first, second);
    auto* const line = reinterpret_cast<uint8_t*>(scores + j);
    store_line(line, halves.high);
    store_line(line + TILE_LINE, halves.low);
  }
  s.total[r] += sum(even + odd);
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
inline void score_odd_keys(const Attend& a, const Tiled& m, const Block& block, const Sight& sight) {
  block.odd_keys.each([&](int32_t place) {
    const T* const k = static_cast<const T*>(a.k_cache) + block.row(place);
    for (int32_t i = 0; i < sight.rows; i++) m.scores[i * SCORES + place] = dot(a, sight.first + i, k) * m.factor;
  });
}

// The weight in a row's lines.
inline float weight_of(const float* lines, int32_t place) {
  const auto* const words = reinterpret_cast<const uint16_t*>(lines + place / STEP * STEP) + 2 * (place % LANES) + place % STEP / LANES;
  const uint32_t high = uint32_t(words[0]) << 16, low = uint32_t(words[STEP]) << 16;
  return __builtin_bit_cast(float, high) + __builtin_bit_cast(float, low);
}

// Only for the rows that see them.
template <class T>
inline void add_odd_values(const Attend& a, const Tiled& m, const Block& block, const Sight& sight) {
  const Queries& s = m.queries;
  block.odd_values.each([&](int32_t place) {
    const T* const v = static_cast<const T*>(a.v_cache) + block.row(place);
    for (int32_t i = 0; i < sight.rows; i++) {
      if (place < sight.of[i].from || place >= sight.of[i].to) continue;
      float weight = weight_of(m.scores + i * SCORES, place);
      if constexpr (has_scale<T>) weight *= scale_of(v, a.head_dim);
      float* const y = s.y + (sight.first + i) * s.width;
      each(a.head_dim, [&](int64_t at, auto... n) { store(y + at, fma(set(weight), load(v + at, n...), load(y + at, n...)), n...); });
    }
  });
}

// I · 16 queries, some of them padding, over a block of keys.
template <class T, Parts P, int I>
inline void score_tile(const Tiled& m, const Sight& sight) {
  const Lines q = {reinterpret_cast<const uint8_t*>(m.queries.q + sight.first * m.depth * STEP), m.depth * 2 * TILE_LINE};
  const int64_t step_bytes = P.k * TILE_BYTES, column_bytes = m.depth * step_bytes;
  const Range places = sight.places();
  for (int32_t j = places.from; j < places.to; j += STEP)
    multiply<false, I, 2, P.q, P.k>(q, {m.keys + j / LANES * column_bytes, column_bytes, step_bytes}, m.depth, m.scores + j, SCORES);
}

template <class T>
inline void weigh_tile(const Attend& a, const Tiled& m, const Sight& sight, int32_t padded_rows) {
  const Range places = sight.places();
  for (int32_t i = 0; i < sight.rows; i++) {
    if (sight.of[i].empty()) continue;
    float* const scores = m.scores + i * SCORES;
    if (has_scale<T> || a.soft_cap > 0) finish_scores(a, scores, places, has_scale<T> ? m.key_scales : nullptr);
    raise_top(m.queries, sight.first + i, highest_score(scores, places, sight.of[i]));
  }
  for (int32_t i = 0; i < padded_rows; i++) {
    float* const scores = m.scores + i * SCORES;
    if (i >= sight.rows || sight.of[i].empty()) fill(scores + places.from, places.to - places.from, 0);
    else weigh<has_scale<T>>(m.queries, sight.first + i, scores, places, m.value_scales);
  }
}

template <class T, Parts P, int I>
inline void add_values(const Tiled& m, const Sight& sight) {
  const Queries& s = m.queries;
  const Range steps = sight.steps();
  const Lines weights = {reinterpret_cast<const uint8_t*>(m.scores + steps.from * STEP), SCORES * int64_t(sizeof(float))};
  const int64_t column_bytes = P.v * TILE_BYTES, step_bytes = m.columns * column_bytes;
  float* const y = s.y + sight.first * s.width;
  const auto columns = [&]<int J>(int64_t c) {
    multiply<true, I, J, P.weights, P.v>(weights, {m.values + steps.from * step_bytes + c * column_bytes, column_bytes, step_bytes},
                                         steps.to - steps.from, y + c * LANES, s.width);
  };
  int64_t c = 0;
  for (; c + 2 <= m.columns; c += 2) columns.template operator()<2>(c);
  if (c < m.columns) columns.template operator()<1>(c);
}

template <class T, Parts P, int I>
inline void attend_tile(const Attend& a, const Tiled& m, const Block& block, int32_t r) {
  const Sight sight(a, block, r, smaller(m.queries.count - r, I * TILE_LINES));
  if (sight.all.empty()) return;
  score_tile<T, P, I>(m, sight);
  score_odd_keys<T>(a, m, block, sight);
  weigh_tile<T>(a, m, sight, I * TILE_LINES);
  add_values<T, P, I>(m, sight);
  add_odd_values<T>(a, m, block, sight);
}

template <class T, Parts P>
inline void attend_in_tiles(const Attend& a) {
  const Tiled m = open_tiled(a);
  configure_all();
  each_block(a, [&](const Keys& keys) {
    Block block(keys);
    pack_keys<T, P.k>(a, m, block);
    pack_values<T, P.v>(a, m, block);
    int32_t r = 0;
    for (; r + TILE_LINES < m.queries.count; r += ROWS) attend_tile<T, P, 2>(a, m, block, r);
    if (r < m.queries.count) attend_tile<T, P, 1>(a, m, block, r);
  });
  release();
  if (a.part)
    for (int32_t r = 0; r < m.queries.count; r++) m.queries.top[r] *= LN_2;
  close_queries(a, m.queries);
}

template <class T>
constexpr Parts split = {2, exact_parts<T>, 2, exact_parts<T>};
template <class T>
constexpr Parts rounded_values = {2, exact_parts<T>, 1, 1};

} // namespace

void attend_many_split(const Attend& a) {
  switch (a.type) {
    case CACHE_F16: return attend_in_tiles<uint16_t, split<uint16_t>>(a);
    case CACHE_BF16: return attend_in_tiles<Bf16, split<Bf16>>(a);
    case CACHE_I8: return attend_in_tiles<int8_t, split<int8_t>>(a);
    default: return attend_in_tiles<float, split<float>>(a);
  }
}

void attend_cached_bf16(const Attend& a) {
  switch (a.type) {
    case CACHE_F16: return attend_in_tiles<uint16_t, rounded_values<uint16_t>>(a);
    case CACHE_BF16: return attend_in_tiles<Bf16, rounded_values<Bf16>>(a);
    case CACHE_I8: return attend_in_tiles<int8_t, rounded_values<int8_t>>(a);
    default: return attend_in_tiles<float, rounded_values<float>>(a);
  }
}

void attend_many_bf16(const Attend& a) { attend_in_tiles<float, Parts{1, 1, 1, 1}>(a); }

} // namespace quern::amx
