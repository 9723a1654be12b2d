// Attention of many queries over a cache. Values and softmax weights are rounded to bf16 and multiplied in pairs, at half
// the cost of floats. Scores stay f32: rounding errors of scores grow with the scores. Each query adds the pairs of keys
// that it sees, in order, independent of other queries; keys that it does not see add nothing.
#define QUERN_ISA bf16
#include "../avx512/vector.h"
#include "../../simd/attention/queries.h"
#include "../../simd/attention/keys.h"
#include "../../simd/attention/weights.h"
#include "../../simd/attention/sums.h"
#include "../../simd/attention/many.h"
#include "pair-sums.h"

namespace quern::bf16 {

void attend_cached_bf16(const Attend& args);

namespace {

constexpr __mmask32 EVEN_WORDS = 0x55555555, ODD_WORDS = 0xaaaaaaaa;

// The panel of a block's values: [BLOCK_PAIRS, LANES, 2] per LANES elements of the head.
struct PairValues {
  float* memory;

  uint16_t* pair(int64_t j, int64_t column) const {
    return reinterpret_cast<uint16_t*>(memory) + (column * BLOCK_PAIRS + j) * PAIR_WORDS;
  }

  template <class T>
  void pack(const Attend& a, const Keys& keys) const {
    const T* const v = static_cast<const T*>(a.v_cache);
    for (int32_t j = 0; j < keys.count; j += 2)
      each(a.head_dim, [&](int64_t at, auto... n) {
        const Floats even = elements(v + keys.rows[j], a.head_dim, at, n...);
        const Floats odd = j + 1 < keys.count ? elements(v + keys.rows[j + 1], a.head_dim, at, n...) : set(0);
        store_pairs(pair(j / 2, at / LANES), interleave(even, odd));
      });
  }

  // One query, pairs with both keys seen.
  void add_alone(const Queries& s, int32_t r, const float* weights, Range pairs) const {
    add_pairs<1>(s, r, weights, pairs, [&](int64_t j, int64_t c) { return load_pairs(pair(j, c)); });
  }

  // One query, a pair with one key seen; mask `seen` selects this key.
  void add_half(const Queries& s, int32_t r, const float* weights, int32_t j, __mmask32 seen) const {
    add_pairs<1>(s, r, weights, {j, j + 1},
                 [&](int64_t k, int64_t c) { return Pairs(_mm512_maskz_loadu_epi16(seen, pair(k, c))); });
  }

  template <int RR>
  void add(const Queries& s, int32_t r, float* weights, const Range (&seen)[RR]) const {
    Range whole[RR], all = {0, BLOCK_PAIRS}; // pairs with both keys seen: by query i, by all queries
    for (int i = 0; i < RR; i++) {
      float* const row = weights + i * ATTEND_KEYS;
      whole[i] = {(seen[i].from + 1) / 2, seen[i].to / 2};
      all = {larger(all.from, whole[i].from), smaller(all.to, whole[i].to)};
      if (!seen[i].empty()) round_weights(row, seen[i]);
      if (!seen[i].empty() && seen[i].from % 2) add_half(s, r + i, row, seen[i].from / 2, ODD_WORDS);
    }
    if (all.empty()) all = {0, 0};
    for (int i = 0; i < RR; i++)
      add_alone(s, r + i, weights + i * ATTEND_KEYS, {whole[i].from, smaller(whole[i].to, all.from)});
    add_pairs<RR>(s, r, weights, all, [&](int64_t j, int64_t c) { return load_pairs(pair(j, c)); });
    for (int i = 0; i < RR; i++) {
      const float* const row = weights + i * ATTEND_KEYS;
      add_alone(s, r + i, row, {larger(whole[i].from, all.to), whole[i].to});
      if (!seen[i].empty() && seen[i].to % 2) add_half(s, r + i, row, seen[i].to / 2, EVEN_WORDS);
    }
  }

 private:
  // To bf16, in place. A first or last key alone in its pair: the other weight of the pair is zero.
  static void round_weights(float* weights, Range seen) {
    if (seen.from % 2) weights[--seen.from] = 0;
    if (seen.to % 2) weights[seen.to++] = 0;
    round_row(weights + seen.from, reinterpret_cast<uint16_t*>(weights) + seen.from, seen.to - seen.from);
  }
};

} // namespace

void attend_cached_bf16(const Attend& a) { attend_many_with<PairValues>(a); }

} // namespace quern::bf16
