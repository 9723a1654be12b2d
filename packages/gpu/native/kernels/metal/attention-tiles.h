// Attention on matrices of simdgroups, for sequences of many rows: a block per 32 rows of a sequence and head, 32 keys at a time
// (FlashAttention-2, Dao 2023), with products and sums of floats. Keys and values come from caches, or from arrays of the same step. A
// simdgroup has 8 rows: their queries and sums stay in registers, scores pass through shared memory. Sums shrink by a product with a
// diagonal matrix, because no lane knows the row of its elements: an infinite sum of a row makes NaN of the others of its eight.
#pragma once
#include "../../dialect/simdgroup.h"
#include "../query-tiles.h"

namespace quern {
namespace gpu {

// Arrays in shared memory, in floats: keys, then values [keys, pitch]; scores of simdgroups [8, score_pitch]; their diagonals [8, 8].
template <int EIGHTS>
struct FloatAttention {
  enum { warps = 4, rows = warps * 8, keys = 32, pitch = EIGHTS * 8 + 4, score_pitch = keys + 4 };
  enum { scores = keys * pitch, diagonals = scores + warps * 8 * score_pitch, scales = diagonals + warps * 64, floats = scales + 2 * keys };
};

// `count` rows of a head, [rows, pitch] in shared memory, times `scale`; 0 from `count` and d on.
template <int EIGHTS>
FUNCTION void put_queries(Shared<float> to, Global<const float> q, int step, int count, int d) {
  using Has = FloatAttention<EIGHTS>;
  for (int i = thread_index(); i < Has::rows * EIGHTS * 8; i += block_threads()) {
    const int row = i / (EIGHTS * 8), element = i % (EIGHTS * 8);
    to[row * Has::pitch + element] = row < count && element < d ? float(q[row * step + element]) : 0.0f;
  }
}

// Keys or values [start, start + 32) of a head, as stored, without their scales, which go to `scales`.
template <class Keys, int EIGHTS>
FUNCTION void put_heads(Shared<float> to, Shared<float> scales, Keys keys, Global<const Byte> cache, int start, KeyRange range, int d) {
  using Has = FloatAttention<EIGHTS>;
  using Kind = typename Keys::Kind;
  for (int i = thread_index(); i < Has::keys * EIGHTS; i += block_threads()) {
    const int key = i / EIGHTS, eight = i % EIGHTS;
    const bool inside = start + key < range.end && eight * 8 < d;
    const int64_t at = keys.head(start + key < range.end ? start + key : range.first);
    Eight values = {};
    if (inside) values = Kind::eight(cache + at, eight * 8);
    UNROLL for (int j = 0; j < 8; j++) to[key * Has::pitch + eight * 8 + j] = values.values[j];
    if (eight == 0) scales[key] = Kind::scale(cache + at, d);
  }
}

// The running softmax of a lane's row, lane / 4 of the simdgroup's.
struct SeenRow {
  float highest, total;
};

// Scores of 8 keys of a row become weights, times the scale of each value. `first`: the lane's first key; place: of the row.
struct ScoreEight {
  float scale, soft_cap;
  int first, end, place, window, causal;
};

FUNCTION float score_of(ScoreEight rule, float product, float key_scale, int key) {
  float score = product * rule.scale * key_scale;
  if (rule.soft_cap > 0) score = rule.soft_cap * hyperbolic_tangent(score / rule.soft_cap);
  const bool sees = key < rule.end && key >= first_key(rule.place, rule.window) && (!rule.causal || key <= rule.place);
  return sees ? score : -infinity();
}

// A NaN goes into the row's total alone: matrices of rows and of the diagonal would pass it to the rows beside.
FUNCTION SeenRow weigh(SeenRow seen, ScoreEight rule, Shared<float> scores, Shared<float> key_scales, Shared<float> value_scales, Shared<float> factor) {
  float values[8], highest = seen.highest;
  UNROLL for (int j = 0; j < 8; j++) {
    values[j] = score_of(rule, scores[j], key_scales[j], rule.first + j);
    highest = largest(highest, values[j]);
  }
  highest = largest(highest, shuffle_xor(highest, 1));
  highest = largest(highest, shuffle_xor(highest, 2));
  const float shrink = exponential(seen.highest - shift_of(highest));
  float total = 0;
  UNROLL for (int j = 0; j < 8; j++) {
    const float weight = exponential(values[j] - shift_of(highest));
    const float scaled = weight == 0 ? 0.0f : weight * value_scales[j];
    total += is_nan(scaled) ? scaled : weight;
    scores[j] = is_nan(scaled) ? 0.0f : scaled;
  }
  if (lane() % 4 == 0) factor[0] = is_nan(shrink) ? 0.0f : shrink;
  return {highest, seen.total * shrink + total};
}

// A diagonal matrix of zeros, for the simdgroup.
FUNCTION void clear_diagonal(Shared<float> diagonal) {
  for (int i = lane(); i < 64; i += WARP) diagonal[i] = 0;
}

template <int EIGHTS>
struct RowSums {
  Matrix8 of[EIGHTS];

  FUNCTION void clear() {
    UNROLL for (int n = 0; n < EIGHTS; n++) of[n] = zero_matrix();
  }
  FUNCTION void multiply(Matrix8 diagonal) {
    UNROLL for (int n = 0; n < EIGHTS; n++) of[n] = matrix_product(diagonal, of[n], zero_matrix());
  }
  // weights: [8, keys]. values: [keys, elements].
  FUNCTION void add(Shared<float> weights, Shared<float> values) {
    using Has = FloatAttention<EIGHTS>;
    UNROLL for (int k = 0; k < Has::keys; k += 8) {
      const Matrix8 left = matrix_at(weights + k, Has::score_pitch);
      UNROLL for (int n = 0; n < EIGHTS; n++)
        of[n] = matrix_product(left, matrix_at(values + (k * Has::pitch + n * 8), Has::pitch), of[n]);
    }
  }
};

// shared: FloatAttention::floats.
template <int EIGHTS, class Source>
FUNCTION void attend_floats(ARGUMENTS const typename Source::Args& args, QueryTile tile, Shared<float> shared) {
  using Has = FloatAttention<EIGHTS>;
  const int d = args.d, s = tile.sequence, length = Source::length(args, s), head = block_index() % args.heads, step = args.heads * d;
  const auto keys = Source::keys(args, s, int(int64_t(head) * args.kv_heads / args.heads));
  const int64_t mine = (int64_t(tile.row) * args.heads + head) * d;
  const Shared<float> heads = shared, scores = shared + (Has::scores + warp() * 8 * Has::score_pitch),
                      diagonal = shared + (Has::diagonals + warp() * 64), scales = shared + Has::scales;
  const int row = lane() / 4, first = lane() % 4 * 8; // of the lane: a row of the simdgroup, and its first key of a tile
  const int place = length - args.bounds[s + 1] + tile.row + warp() * 8 + row;

  put_queries<EIGHTS>(heads, args.q + mine, step, tile.rows, d);
  clear_diagonal(diagonal);
  barrier();
  Matrix8 q[EIGHTS];
  UNROLL for (int n = 0; n < EIGHTS; n++) q[n] = matrix_at(heads + (warp() * 8 * Has::pitch + n * 8), Has::pitch);
  SeenRow seen = {-infinity(), 0};
  RowSums<EIGHTS> y;
  y.clear();

  for (int start = tile.keys.first; start < tile.keys.end; start += Has::keys) {
    barrier(); // what was in `heads` has been read
    put_heads<decltype(keys), EIGHTS>(heads, scales, keys, keys.k, start, tile.keys, d);
    barrier();
    UNROLL for (int n = 0; n < Has::keys; n += 8) {
      Matrix8 products = zero_matrix();
      UNROLL for (int at = 0; at < EIGHTS; at++)
        products = matrix_product(q[at], transposed_at(heads + (n * Has::pitch + at * 8), Has::pitch), products);
      put_matrix(products, scores + n, Has::score_pitch);
    }
    barrier(); // the keys have been read
    put_heads<decltype(keys), EIGHTS>(heads, scales + Has::keys, keys, keys.v, start, tile.keys, d);
    barrier();
    const ScoreEight rule = {args.scale, args.soft_cap, start + first, tile.keys.end, place, args.window, args.causal};
    seen = weigh(seen, rule, scores + (row * Has::score_pitch + first), scales + first, scales + (Has::keys + first), diagonal + row * 9);
    warp_barrier();
    y.multiply(matrix_at(diagonal, 8));
    y.add(scores, heads);
  }

  seen.total += shuffle_xor(seen.total, 1);
  seen.total += shuffle_xor(seen.total, 2);
  barrier(); // the values have been read
  UNROLL for (int n = 0; n < EIGHTS; n++) put_matrix(y.of[n], heads + (warp() * 8 * Has::pitch + n * 8), Has::pitch);
  warp_barrier();
  if (warp() * 8 + row < tile.rows)
    for (int element = lane() % 4; element < d; element += 4)
      args.y[mine + (warp() * 8 + row) * step + element] = heads[(warp() * 8 + row) * Has::pitch + element] / seen.total;
}

// The number: elements of a head, at most.
#define FLOAT_ATTENTION(elements, Source, kernel)                                        \
  KERNEL_OF(kernel, Source::Args, FloatAttention<elements / 8>::warps * WARP, 1) {       \
    SHARED(float, sums, 4 * FloatAttention<elements / 8>::warps);                        \
    SHARED(float, shared, FloatAttention<elements / 8>::floats);                         \
    const QueryTile tile = checked_tile<FloatAttention<elements / 8>::rows, Source>(args, sums); \
    if (tile.sequence >= 0) attend_floats<elements / 8, Source>(args, tile, shared);     \
  }
#define FLOAT_ATTENTION_OF(Kind, name)                                  \
  FLOAT_ATTENTION(64, FromCache<Kind>, attention_tile_64_##name)        \
  FLOAT_ATTENTION(128, FromCache<Kind>, attention_tile_128_##name)
FLOAT_ATTENTION_OF(CacheF32, f32)
FLOAT_ATTENTION_OF(CacheF16, f16)
FLOAT_ATTENTION_OF(CacheBf16, bf16)
FLOAT_ATTENTION_OF(CacheI8, i8)
FLOAT_ATTENTION_OF(CacheE4m3, e4m3)
FLOAT_ATTENTION(64, FromArrays, uncached_attention_tile_64)
FLOAT_ATTENTION(128, FromArrays, uncached_attention_tile_128)
#undef FLOAT_ATTENTION_OF
#undef FLOAT_ATTENTION

} // namespace gpu
} // namespace quern
