// Attention of many queries that all see the same keys, as in encoders. q, k, v and the softmax weights are rounded to bf16
// and multiplied in pairs, at half the cost of floats; sums are f32. A row's result depends only on its keys.
#define QUERN_ISA bf16
#include "../avx512/vector.h"
#include "pair-sums.h"

namespace quern::bf16 {

void attend_many_bf16(const Attend& args);

namespace {

// A block of keys and a block of values. Pairs: two neighbours within a key's head; one element of two values.
struct Panels {
  uint16_t* keys;   // per LANES keys: [ceil(d / 2), LANES, 2]
  uint16_t* values; // per LANES elements of the head: [BLOCK_PAIRS, LANES, 2]
};

inline void pack_keys(const float* k, const Keys& keys, int64_t d, uint16_t* panel) {
  for (int32_t j = 0; j < keys.count; j += LANES, panel += pairs_of(d) * PAIR_WORDS)
    for (int64_t at = 0; at < d; at += LANES) {
      Floats square[LANES];
#pragma GCC unroll 16
      for (int i = 0; i < LANES; i++) square[i] = j + i < keys.count ? load_first(k + keys.rows[j + i] + at, d - at) : set(0);
      transpose(square);
      uint16_t* const to = panel + at / 2 * PAIR_WORDS;
#pragma GCC unroll 8
      for (int i = 0; i < LANES / 2; i++)
        if (at + 2 * i < d) store_pairs(to + i * PAIR_WORDS, interleave(square[2 * i], square[2 * i + 1]));
    }
}

inline void pack_values(const float* v, const Keys& keys, int64_t d, uint16_t* panel) {
  for (int64_t at = 0; at < d; at += LANES, panel += BLOCK_PAIRS * PAIR_WORDS)
    for (int32_t j = 0; j < keys.count; j += 2) {
      const Floats even = load_first(v + keys.rows[j] + at, d - at);
      const Floats odd = j + 1 < keys.count ? load_first(v + keys.rows[j + 1] + at, d - at) : set(0);
      store_pairs(panel + j / 2 * PAIR_WORDS, interleave(even, odd));
    }
}

// scores[r][j] = q_r · k_j for RR queries and all keys of the block.
template <int RR>
inline void score(const Queries& s, int32_t r, const uint16_t* panel, int32_t count, float* scores) {
  const int64_t pairs = pairs_of(s.d);
  each_column((count + LANES - 1) / LANES, [&]<int CC>(int64_t at) {
    Floats sums[RR][CC];
    for (int i = 0; i < RR; i++)
      for (int c = 0; c < CC; c++) sums[i][c] = set(0);
    const auto* const q = reinterpret_cast<const uint16_t*>(s.q + int64_t(r) * s.d);
    add_products(q, 2 * s.d, pairs, [&](int64_t i, int c) { return load_pairs(panel + ((at + c) * pairs + i) * PAIR_WORDS); }, sums);
    for (int i = 0; i < RR; i++)
      for (int c = 0; c < CC; c++) store(scores + i * ATTEND_KEYS + (at + c) * LANES, sums[i][c]);
  });
}

// 2^t, relative error 8e-5, below bf16's precision: a polynomial over [0, 1). NaN passes.
inline Floats power_of_2(Floats t) {
  const Floats f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); // t - ⌊t⌋; 0 for an infinity
  Floats p = set(0.07802452266443254f);
  p = fma(p, f, set(0.22606715539312935f));
  p = fma(p, f, set(0.6958335405064481f));
  p = fma(p, f, set(0.99992521856401f));
  return _mm512_scalef_ps(p, t); // p · 2^⌊t⌋
}

// Base-2 scores of query r → bf16 weights, in place, zero-padded to a whole register. A step of the running softmax.
inline void weigh(const Queries& s, int32_t r, float* scores, int32_t count) {
  Floats top = set(-INF);
  each(count, [&](int64_t j, auto... n) { top = max(load_or(set(-INF), scores + j, n...), top); });
  const float highest = largest(top), before = s.top[r];
  s.shrink[r] = 1;
  if (highest > before) {
    s.top[r] = highest;
    store(s.shrink + r, power_of_2(set(before - highest)), 1);
  }
  const Floats base = set(s.top[r] == -INF ? 0 : s.top[r]);
  const auto weights = [&](int64_t j) {
    const int64_t left = count - j;
    return power_of_2((left >= LANES ? load(scores + j) : load_or(set(-INF), scores + j, left > 0 ? left : 0)) - base);
  };
  Floats even = set(0), odd = set(0);
  for (int64_t j = 0; j < count; j += PAIR_WORDS) {
    const Floats low = weights(j), high = weights(j + LANES);
    even = even + low;
    odd = odd + high;
    store_pairs(reinterpret_cast<uint16_t*>(scores) + j, _mm512_cvtne2ps_pbh(high, low));
  }
  s.total[r] = s.total[r] * s.shrink[r] + sum(even + odd);
}

// Queries to bf16, in place, multiplied by scale · log2(e): scores are then base-2 exponents.
inline void round_queries(const Attend& a, const Queries& s) {
  constexpr float log2e = 1.44269504088896340736f;
  each(int64_t{s.count} * s.d, [&](int64_t i, auto... n) { store(s.q + i, load(s.q + i, n...) * set(a.scale * log2e), n...); });
  for (int32_t r = 0; r < s.count; r++)
    round_row(s.q + int64_t(r) * s.d, reinterpret_cast<uint16_t*>(s.q + int64_t(r) * s.d), s.d);
}

template <int RR>
inline void attend_tile_of(const Queries& s, int32_t r, const Panels& panels, int32_t count, float* scores) {
  score<RR>(s, r, panels.keys, count, scores);
  for (int i = 0; i < RR; i++) weigh(s, r + i, scores + i * ATTEND_KEYS, count);
  add_pairs<RR>(s, r, scores, {0, int32_t(pairs_of(count))},
                [&](int64_t j, int64_t c) { return load_pairs(panels.values + (c * BLOCK_PAIRS + j) * PAIR_WORDS); });
}

inline void store_rows(const Attend& a, const Queries& s) {
  for (int32_t r = 0; r < s.count; r++) {
    const Floats factor = set(1 / s.total[r]);
    float* const y = a.y + r / a.group * a.row_stride + r % a.group * s.d;
    each(s.d, [&](int64_t i, auto... n) { store(y + i, load(s.y + r * s.width + i, n...) * factor, n...); });
  }
}

} // namespace

void attend_many_bf16(const Attend& a) {
  constexpr int tile = 6;
  static_assert(tile <= attend_tile);
  const Queries s = open_queries(a);
  round_queries(a, s);
  float* const scores = s.rest;
  auto* const keys_panel = reinterpret_cast<uint16_t*>(scores + attend_tile * ATTEND_KEYS);
  const Panels panels = {keys_panel, keys_panel + ATTEND_KEYS * 2 * pairs_of(s.d)};
  each_block(a, [&](const Keys& keys) {
    pack_keys(static_cast<const float*>(a.k_cache), keys, s.d, panels.keys);
    pack_values(static_cast<const float*>(a.v_cache), keys, s.d, panels.values);
    int32_t r = 0;
    for (; r + tile <= s.count; r += tile) attend_tile_of<tile>(s, r, panels, keys.count, scores);
    for (; r + 2 <= s.count; r += 2) attend_tile_of<2>(s, r, panels, keys.count, scores);
    if (r < s.count) attend_tile_of<1>(s, r, panels, keys.count, scores);
  });
  store_rows(a, s);
}

} // namespace quern::bf16
