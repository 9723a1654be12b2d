// Attention on tensor cores, for sequences of many rows: a block per 64 rows of a sequence and head, 16 or 32 keys at a time
// (FlashAttention-2, Dao 2023). Keys and values come from caches, or from arrays of the same step. q and the softmax weights become sums of PARTS numbers of bf16, keys and values of as many as they
// need: with three parts, products are products of floats; with two, of 16 bits of q and the weights. A warp has 16 rows; their queries and sums stay in registers.
#pragma once
#include "../../dialect/nvidia.h"
#include "../query-tiles.h"
#include "bf16-parts.h"

namespace quern {
namespace gpu {

constexpr int QUERY_ROWS = 64, QUERY_WARPS = QUERY_ROWS / 16;

// Numbers of bf16 that an element of a cache is the exact sum of.
template <class Kind>
struct CacheParts;
template <>
struct CacheParts<CacheF32> {
  enum { count = 3 };
};
template <>
struct CacheParts<CacheF16> {
  enum { count = 2 };
};
template <>
struct CacheParts<CacheBf16> {
  enum { count = 1 };
};
template <>
struct CacheParts<CacheI8> {
  enum { count = 1 };
};
template <>
struct CacheParts<CacheE4m3> {
  enum { count = 1 };
};

// What registers allow: keys at a time, and how many parts of the queries; the others are in shared memory.
template <int STEPS, int PARTS>
struct Room {
  enum { full = STEPS * PARTS > 12, keys = STEPS > 4 ? 16 : 32, parts = full ? 1 : PARTS };
  enum { part = QUERY_WARPS * STEPS * WARP, shared = full ? (PARTS - parts) * part : 1 };
};

// Where an eight of a key's head is in shared memory: keys that a warp reads together meet no bank twice.
template <int EIGHTS>
FUNCTION int key_place(int key, int eight) { return key * EIGHTS + (eight ^ key % 8); }

// Eight values of the queries: as words of a Fragment16x16, 16 elements from `at` on. rows: of the warp, from `q` on.
FUNCTION Eight query_words(Global<const float> q, int step, int rows, int at, int d) {
  Eight eight;
  UNROLL for (int i = 0; i < 8; i++) {
    const int row = lane() / 4 + i / 2 % 2 * 8, element = at + lane() % 4 * 2 + i / 4 * 8 + i % 2;
    eight.values[i] = row < rows && element < d ? float(q[row * step + element]) : 0.0f;
  }
  return eight;
}

FUNCTION Fragment16x16 fragment_of(Uint4 words) { return {{words[0], words[1], words[2], words[3]}}; }

// The running softmax of a lane's two rows: lane / 4 and 8 more.
struct TwoRows {
  float highest[2], total[2];
};

// ks, vs: [parts, TILE_KEYS, EIGHTS]. scales: of keys and of values [2, TILE_KEYS]. spare: of the queries [parts, warps, STEPS, WARP].
template <int STEPS, int PARTS, class Source>
FUNCTION void attend_rows(const typename Source::Args& args, QueryTile tile, Shared<Uint4> ks, Shared<Uint4> vs, Shared<float> scales,
                          Shared<Uint4> spare) {
  using Kind = typename Source::Kind;
  constexpr int EIGHTS = 2 * STEPS, KEY_PARTS = PARTS < CacheParts<Kind>::count ? PARTS : CacheParts<Kind>::count;
  using Has = Room<STEPS, PARTS>;
  constexpr int TILE_KEYS = Has::keys, KEPT = Has::parts;
  constexpr int PART = TILE_KEYS * EIGHTS;
  const KeyRange range = tile.keys;
  const int d = args.d, s = tile.sequence, length = Source::length(args, s), head = block_index() % args.heads;
  const auto keys = Source::keys(args, s, int(int64_t(head) * args.kv_heads / args.heads));
  const int step = args.heads * d;
  const int64_t mine = (int64_t(tile.row + warp() * 16) * args.heads + head) * d;
  const int rows = tile.rows - warp() * 16, position = length - args.bounds[s + 1] + tile.row + warp() * 16 + lane() / 4;

  const auto place_of = [](int part, int at) { return (part - KEPT) * Has::part + (warp() * STEPS + at) * WARP + lane(); }; // in `spare`
  Fragment16x16 q[KEPT][STEPS];
  UNROLL for (int at = 0; at < STEPS; at++) {
    Eight words = query_words(args.q + mine, step, rows, at * 16, d);
    UNROLL for (int p = 0; p < PARTS; p++) {
      const Uint4 part = p == PARTS - 1 ? take_part<true>(words) : take_part<false>(words);
      if (p < KEPT) q[p % KEPT][at] = fragment_of(part);
      else spare[place_of(p, at)] = part;
    }
  }
  TwoRows seen = {{-infinity(), -infinity()}, {0, 0}};
  Sums16x8 y[2 * STEPS] = {};

  for (int start = range.first; start < range.end; start += TILE_KEYS) {
    barrier(); // the keys before have been read
    for (int item = thread_index(); item < TILE_KEYS * EIGHTS; item += block_threads()) {
      const int key = item / EIGHTS, eight = item % EIGHTS, place = key_place<EIGHTS>(key, eight);
      const bool inside = start + key < range.end && eight * 8 < d;
      const int64_t at = keys.head(inside ? start + key : range.first);
      Eight k = inside ? Kind::eight(keys.k + at, eight * 8) : Eight{}, v = inside ? Kind::eight(keys.v + at, eight * 8) : Eight{};
      UNROLL for (int p = 0; p < KEY_PARTS; p++) {
        ks[p * PART + place] = p == KEY_PARTS - 1 ? take_part<true>(k) : take_part<false>(k);
        vs[p * PART + place] = p == KEY_PARTS - 1 ? take_part<true>(v) : take_part<false>(v);
      }
      if (eight == 0) scales[key] = Kind::scale(keys.k + at, d), scales[TILE_KEYS + key] = Kind::scale(keys.v + at, d);
    }
    barrier();

    Sums16x8 scores[TILE_KEYS / 8] = {};
    UNROLL for (int at = 0; at < STEPS; at++)
      UNROLL for (int n = 0; n < TILE_KEYS / 8; n += 2)
        UNROLL for (int r = 0; r < KEY_PARTS; r++) {
          const int key = n * 8 + lane() / 16 * 8 + lane() % 8;
          const Fragment16x16 two = load_matrices(ks + (r * PART + key_place<EIGHTS>(key, 2 * at + lane() / 8 % 2)));
          const Fragment16x8 first = {{two.words[0], two.words[1]}}, second = {{two.words[2], two.words[3]}};
          UNROLL for (int p = 0; p < PARTS - r; p++) {
            const Fragment16x16 rows_of_q = p < KEPT ? q[p % KEPT][at] : fragment_of(spare[place_of(p, at)]);
            multiply_bf16(scores[n], rows_of_q, first);
            multiply_bf16(scores[n + 1], rows_of_q, second);
          }
        }

    float highest[2] = {seen.highest[0], seen.highest[1]};
    UNROLL for (int n = 0; n < TILE_KEYS / 8; n++)
      UNROLL for (int i = 0; i < 4; i++) {
        const int at = n * 8 + lane() % 4 * 2 + i % 2, key = start + at, place = position + i / 2 * 8;
        float score = scores[n].values[i] * args.scale * scales[at];
        if (args.soft_cap > 0) score = args.soft_cap * hyperbolic_tangent(score / args.soft_cap);
        const bool sees = key < range.end && key >= first_key(place, args.window) && (!args.causal || key <= place);
        scores[n].values[i] = sees ? score : -infinity();
        highest[i / 2] = largest(highest[i / 2], scores[n].values[i]);
      }
    float shrink[2];
    UNROLL for (int r = 0; r < 2; r++) {
      highest[r] = largest(highest[r], shuffle_xor(highest[r], 1));
      highest[r] = largest(highest[r], shuffle_xor(highest[r], 2));
      shrink[r] = exponential(seen.highest[r] - shift_of(highest[r]));
      seen.highest[r] = highest[r];
      seen.total[r] *= shrink[r];
    }
    UNROLL for (int n = 0; n < 2 * STEPS; n++)
      UNROLL for (int i = 0; i < 4; i++) y[n].values[i] *= shrink[i / 2];
    UNROLL for (int n = 0; n < TILE_KEYS / 8; n++)
      UNROLL for (int i = 0; i < 4; i++) {
        const float weight = exponential(scores[n].values[i] - shift_of(seen.highest[i / 2]));
        seen.total[i / 2] += weight;
        scores[n].values[i] = weight * scales[TILE_KEYS + n * 8 + lane() % 4 * 2 + i % 2];
      }

    Fragment16x16 weights[TILE_KEYS / 16][PARTS];
    UNROLL for (int at = 0; at < TILE_KEYS / 16; at++) {
      Eight words;
      UNROLL for (int i = 0; i < 8; i++) words.values[i] = scores[2 * at + i / 4].values[i % 4];
      UNROLL for (int p = 0; p < PARTS; p++)
        weights[at][p] = fragment_of(p == PARTS - 1 ? take_part<true>(words) : take_part<false>(words));
    }
    UNROLL for (int n = 0; n < STEPS; n++) {
      Sums16x8 of_keys[2] = {};
      UNROLL for (int at = 0; at < TILE_KEYS / 16; at++)
        UNROLL for (int r = 0; r < KEY_PARTS; r++) {
          const int key = at * 16 + lane() / 8 % 2 * 8 + lane() % 8;
          const Fragment16x16 two = load_transposed(vs + (r * PART + key_place<EIGHTS>(key, 2 * n + lane() / 16)));
          const Fragment16x8 first = {{two.words[0], two.words[1]}}, second = {{two.words[2], two.words[3]}};
          UNROLL for (int p = 0; p < PARTS - r; p++) {
            multiply_bf16(of_keys[0], weights[at][p], first);
            multiply_bf16(of_keys[1], weights[at][p], second);
          }
        }
      add_sums(y[2 * n], of_keys[0]);
      add_sums(y[2 * n + 1], of_keys[1]);
    }
  }

  UNROLL for (int r = 0; r < 2; r++) {
    seen.total[r] += shuffle_xor(seen.total[r], 1);
    seen.total[r] += shuffle_xor(seen.total[r], 2);
  }
  UNROLL for (int n = 0; n < 2 * STEPS; n++)
    UNROLL for (int i = 0; i < 4; i++) {
      const int row = lane() / 4 + i / 2 * 8, element = n * 8 + lane() % 4 * 2 + i % 2;
      if (row < rows && element < d) args.y[mine + row * step + element] = y[n].values[i] / seen.total[i / 2];
    }
}

// The numbers: parts; elements of a head, at most.
#define ATTENTION_TILE(parts, elements, Source, kernel)                                                                \
  KERNEL_OF(kernel, Source::Args, QUERY_WARPS * WARP, parts == 1 && elements == 64 ? 3 : 2) {                          \
    constexpr int KEY_PARTS = parts < CacheParts<Source::Kind>::count ? parts : CacheParts<Source::Kind>::count;       \
    using Has = Room<elements / 16, parts>;                                                                            \
    SHARED(float, sums, 4 * QUERY_WARPS);                                                                              \
    SHARED(Uint4, ks, KEY_PARTS * Has::keys * elements / 8);                                                           \
    SHARED(Uint4, vs, KEY_PARTS * Has::keys * elements / 8);                                                           \
    SHARED(float, scales, 2 * Has::keys);                                                                              \
    SHARED(Uint4, spare, Has::shared);                                                                                 \
    const QueryTile tile = checked_tile<QUERY_ROWS, Source>(args, sums);                                               \
    if (tile.sequence >= 0) attend_rows<elements / 16, parts, Source>(args, tile, ks, vs, scales, spare);              \
  }
#define ATTENTION_TILES(Kind, name)                                       \
  ATTENTION_TILE(3, 64, FromCache<Kind>, attention_tile_3_64_##name)      \
  ATTENTION_TILE(2, 128, FromCache<Kind>, attention_tile_2_128_##name)    \
  ATTENTION_TILE(1, 64, FromCache<Kind>, attention_tile_1_64_##name)      \
  ATTENTION_TILE(1, 128, FromCache<Kind>, attention_tile_1_128_##name)
ATTENTION_TILES(CacheF16, f16)
ATTENTION_TILES(CacheBf16, bf16)
ATTENTION_TILES(CacheI8, i8)
ATTENTION_TILES(CacheE4m3, e4m3)
ATTENTION_TILE(3, 64, FromArrays, uncached_attention_tile_3_64)
ATTENTION_TILE(2, 128, FromArrays, uncached_attention_tile_2_128)
ATTENTION_TILE(1, 64, FromArrays, uncached_attention_tile_1_64)
ATTENTION_TILE(1, 128, FromArrays, uncached_attention_tile_1_128)
#undef ATTENTION_TILES
#undef ATTENTION_TILE

} // namespace gpu
} // namespace quern
