// Attention of many queries in which all see the same keys, as in encoders: q, k, v and the softmax's weights are rounded to
// bf16 and multiplied in pairs, which costs half of what floats cost. Sums are floats. A row's result depends on its keys
// alone, not on the rows beside it.
#define QUERN_ISA bf16
#include "../avx512/vector.h"
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"

namespace quern::bf16 {

void attend_many_bf16(const Attend& args);

namespace {

using Pairs = __m512bh; // two bf16 in each lane

constexpr int64_t PAIR_WORDS = 2 * LANES;
constexpr int64_t BLOCK_PAIRS = ATTEND_KEYS / 2;

inline Pairs load_pairs(const uint16_t* p) { return Pairs(_mm512_loadu_si512(p)); }
inline void store_pairs(uint16_t* p, Pairs x) { _mm512_storeu_si512(p, __m512i(x)); }
inline Pairs every_lane(const uint16_t* pair) {
  int32_t bits;
  memcpy(&bits, pair, sizeof bits);
  return Pairs(_mm512_set1_epi32(bits));
}
// Lane i: the i-th of `even`, then the i-th of `odd`.
inline Pairs interleave(Floats even, Floats odd) {
  alignas(64) static constexpr uint16_t order[PAIR_WORDS] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
                                                             8,  24, 9,  25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return Pairs(_mm512_permutexvar_epi16(_mm512_load_si512(order), __m512i(_mm512_cvtne2ps_pbh(odd, even))));
}

// LANES floats from p on, of which n are there; zeros beyond.
inline Floats load_first(const float* p, int64_t n) { return n >= LANES ? load(p) : n <= 0 ? set(0) : load(p, n); }

// A block of keys and one of values. Pairs of keys are neighbours within a head, those of values are of two keys.
struct Panels {
  uint16_t* keys;   // for LANES keys each: [ceil(d / 2), LANES, 2]
  uint16_t* values; // for LANES elements of the head each: [BLOCK_PAIRS, LANES, 2]
};

inline int64_t pairs_of(int64_t n) { return (n + 1) / 2; }

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

// n floats to bf16 where they are, and zeros to the end of the last register: `to` may be `from`.
inline void round_row(const float* from, uint16_t* to, int64_t n) {
  for (int64_t i = 0; i < n; i += PAIR_WORDS) {
    const Floats low = load_first(from + i, n - i), high = load_first(from + i + LANES, n - i - LANES);
    const int64_t words = n - i < PAIR_WORDS ? 2 * pairs_of(n - i) : PAIR_WORDS;
    _mm512_mask_storeu_epi16(to + i, __mmask32((uint64_t(1) << words) - 1), __m512i(_mm512_cvtne2ps_pbh(high, low)));
  }
}

// sums[r][c] += Σ a[r][i] · column(i, c) over pairs i; rows of a are lda words apart.
template <int RR, int CC, class F>
inline void add_products(const uint16_t* a, int64_t lda, int64_t pairs, F column, Floats (&sums)[RR][CC]) {
  for (int64_t i = 0; i < pairs; i++) {
    Pairs columns[CC];
#pragma GCC unroll 4
    for (int c = 0; c < CC; c++) columns[c] = load_pairs(column(i, c));
#pragma GCC unroll 6
    for (int r = 0; r < RR; r++) {
      const Pairs pair = every_lane(a + r * lda + 2 * i);
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], pair, columns[c]);
    }
  }
}

// Calls body<columns>(first) for 4, 2 or 1 columns at a time.
template <class F>
inline void each_column(int64_t columns, F body) {
  int64_t at = 0;
  for (; at + 4 <= columns; at += 4) body.template operator()<4>(at);
  for (; at + 2 <= columns; at += 2) body.template operator()<2>(at);
  if (at < columns) body.template operator()<1>(at);
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
    add_products(q, 2 * s.d, pairs, [&](int64_t i, int c) { return panel + ((at + c) * pairs + i) * PAIR_WORDS; }, sums);
    for (int i = 0; i < RR; i++)
      for (int c = 0; c < CC; c++) store(scores + i * ATTEND_KEYS + (at + c) * LANES, sums[i][c]);
  });
}

// 2^t to 8e-5 of it, which bf16 does not show: a polynomial over [-1/2, 1/2]. NaN passes.
inline Floats power_of_2(Floats t) {
  const Floats x = max(set(-200), t), n = round(x), f = x - n;
  Floats p = set(0.055171068757772446f);
  p = fma(p, f, set(0.24261073768138885f));
  p = fma(p, f, set(0.6932610273361206f));
  p = fma(p, f, set(0.9999281167984009f));
  return times_power_of_2(p, n);
}

// The dot products of query r become weights in bf16, in place; those of an odd last pair are followed by a zero. A step of
// the running softmax.
inline void weigh(const Attend& a, const Queries& s, int32_t r, float* scores, int32_t count) {
  constexpr float log2e = 1.44269504088896340736f;
  Floats top = set(-INF);
  const Floats one = set(scores[0]);
  each(count, [&](int64_t j, auto... n) { top = max(load_or(one, scores + j, n...) * set(a.scale), top); });
  const float highest = largest(top), before = s.top[r];
  s.shrink[r] = 1;
  if (highest > before) {
    s.top[r] = highest;
    store(s.shrink + r, exp(set(before - highest)), 1);
  }
  const float base = s.top[r] == -INF ? 0 : s.top[r];
  const Floats factor = set(a.scale * log2e), shift = set(-base * log2e);
  Floats total = set(0);
  each(count, [&](int64_t j, auto... n) {
    const Floats weight = power_of_2(fma(load(scores + j, n...), factor, shift));
    store(scores + j, weight, n...);
    total = total + load(scores + j, n...);
  });
  s.total[r] = s.total[r] * s.shrink[r] + sum(total);
  round_row(scores, reinterpret_cast<uint16_t*>(scores), count);
}

// y_r = shrink_r · y_r + Σ_j weights[r][j] · v_j for RR queries from r on.
template <int RR>
inline void add_values(const Queries& s, int32_t r, const float* weights, const uint16_t* panel, int32_t count) {
  each_column(s.width / LANES, [&]<int CC>(int64_t at) {
    Floats sums[RR][CC];
    float* const y = s.y + r * s.width + at * LANES;
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) sums[i][c] = load(y + i * s.width + c * LANES) * set(s.shrink[r + i]);
    add_products(reinterpret_cast<const uint16_t*>(weights), 2 * ATTEND_KEYS, pairs_of(count),
                 [&](int64_t j, int c) { return panel + ((at + c) * BLOCK_PAIRS + j) * PAIR_WORDS; }, sums);
#pragma GCC unroll 6
    for (int i = 0; i < RR; i++)
#pragma GCC unroll 4
      for (int c = 0; c < CC; c++) store(y + i * s.width + c * LANES, sums[i][c]);
  });
}

template <int RR>
inline void attend_tile_of(const Attend& a, const Queries& s, int32_t r, const Panels& panels, int32_t count, float* scores) {
  score<RR>(s, r, panels.keys, count, scores);
  for (int i = 0; i < RR; i++) weigh(a, s, r + i, scores + i * ATTEND_KEYS, count);
  add_values<RR>(s, r, scores, panels.values, count);
}

inline void store_rows(const Attend& a, const Queries& s) {
  for (int32_t r = 0; r < s.count; r++) {
    const Floats factor = set(s.total[r] == 0 ? 0 : 1 / s.total[r]);
    float* const y = a.y + r / a.group * a.row_stride + r % a.group * s.d;
    each(s.d, [&](int64_t i, auto... n) { store(y + i, load(s.y + r * s.width + i, n...) * factor, n...); });
  }
}

} // namespace

void attend_many_bf16(const Attend& a) {
  constexpr int tile = 6;
  static_assert(tile <= attend_tile);
  const Queries s = open_queries(a);
  for (int32_t r = 0; r < s.count; r++)
    round_row(s.q + int64_t(r) * s.d, reinterpret_cast<uint16_t*>(s.q + int64_t(r) * s.d), s.d);
  float* const scores = s.rest;
  auto* const keys_panel = reinterpret_cast<uint16_t*>(scores + attend_tile * ATTEND_KEYS);
  const Panels panels = {keys_panel, keys_panel + ATTEND_KEYS * 2 * pairs_of(s.d)};
  each_block(a, [&](const Keys& keys) {
    pack_keys(static_cast<const float*>(a.k_cache), keys, s.d, panels.keys);
    pack_values(static_cast<const float*>(a.v_cache), keys, s.d, panels.values);
    int32_t r = 0;
    for (; r + tile <= s.count; r += tile) attend_tile_of<tile>(a, s, r, panels, keys.count, scores);
    for (; r + 2 <= s.count; r += 2) attend_tile_of<2>(a, s, r, panels, keys.count, scores);
    if (r < s.count) attend_tile_of<1>(a, s, r, panels, keys.count, scores);
  });
  store_rows(a, s);
}

} // namespace quern::bf16
