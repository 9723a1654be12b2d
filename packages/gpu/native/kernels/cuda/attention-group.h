// Decode attention over a cache on tensor cores: rows of a sequence × heads that share a key head are the 16 rows of a product, so a
// key and a value are loaded once for all of them. A block per 16 of these, key head and part of the keys; its warps take turns with
// 16 keys, which they copy beside their work, and keep running softmaxes. Warps are merged in their order, parts by attention_merge.
// A row's bits depend on its sequence, its place there and the number of parts, not on other sequences.
#pragma once
#include "../block-max.h"
#include "group-arguments.h"
#include "key-chunks.h"

namespace quern {
namespace gpu {

// Tiles before the end of sequence s, with tiles that have no rows. end: of its rows.
FUNCTION int tiles_to(const GroupAttention& args, int s, int end) {
  return args.tile_per_row ? end : int(int64_t(end) * args.group / PACKED) + s + 1;
}
struct TilesBefore {
  const GroupAttention& args;
  int tile;
  FUNCTION bool counts(int s, int end) const { return tiles_to(args, s, end) <= tile; }
};

// Rows [first, first + count) of a sequence's rows × group; none: there is no such tile. row, end: the sequence's rows in the batch.
struct PackedTile {
  int sequence, first, count;
  int row, end, length;
};

// sequence: the first whose tiles do not end before.
FUNCTION PackedTile packed_tile(const GroupAttention& args, int tile, int sequence) {
  const Attention& of = args.of;
  if (sequence >= of.sequences) return {};
  const int row = of.bounds[sequence], end = of.bounds[sequence + 1], length = of.lengths[sequence];
  const int first = (tile - (sequence > 0 ? tiles_to(args, sequence - 1, row) : 0)) * PACKED;
  const int count = (end - row) * args.group - first;
  return {sequence, first, count < PACKED ? count : PACKED, row, end, length};
}

// Keys that row `row` of a sequence sees.
FUNCTION KeyRange keys_of_row(const Attention& args, PackedTile tile, int row) {
  const int position = tile.length - tile.end + tile.row + row;
  return {first_key(position, args.window), args.causal ? position + 1 : tile.length};
}

// A lane's rows of a tile are lane / 4 and 8 more. Where there is none: the last row, which sees no keys.
struct LaneRows {
  int64_t head[2]; // row · heads + head
  KeyRange sees[2];
  float scale[2];
};

FUNCTION LaneRows lane_rows(const Attention& args, PackedTile tile, int group, int kv_head, KeyRange range) {
  LaneRows rows;
  UNROLL for (int r = 0; r < 2; r++) {
    const int m = lane() / 4 + r * 8, at = tile.first + (m < tile.count ? m : tile.count - 1), row = at / group;
    rows.head[r] = int64_t(tile.row + row) * args.heads + kv_head * group + at - row * group;
    rows.sees[r] = m < tile.count ? keys_of_row(args, tile, row) : KeyRange{0, 0};
    rows.sees[r].end = rows.sees[r].end < range.end ? rows.sees[r].end : range.end;
    rows.scale[r] = args.scale;
  }
  return rows;
}

// A lane's queries of a warp's steps, in the order of a fragment; anything from d on, and of rows that are not there.
template <int ELEMENTS, class Chunk>
struct LaneQueries {
  enum { steps = ELEMENTS / 16 / Chunk::warps };
  Eight of[steps];

  static FUNCTION int step(int i) { return i * int(Chunk::warps) + warp(); }
  static FUNCTION int element(int at, int i) { return Chunk::element_of_q(step(at), lane() % 4 * 2 + i / 4 * 8 + i % 2); }
};

// All loads are under way before one is used.
template <int ELEMENTS, class Chunk>
FUNCTION LaneQueries<ELEMENTS, Chunk> load_queries(const Attention& args, const LaneRows& rows) {
  using Queries = LaneQueries<ELEMENTS, Chunk>;
  const Global<const float> q[2] = {args.q + rows.head[0] * args.d, args.q + rows.head[1] * args.d};
  Queries queries;
  UNROLL for (int at = 0; at < Queries::steps; at++)
    UNROLL for (int i = 0; i < 8; i++) {
      const int element = Queries::element(at, i);
      queries.of[at].values[i] = q[i / 2 % 2][element < args.d ? element : 0];
    }
  return queries;
}

// The power of two by which each row of q is multiplied. tops [warps, 16]: the highest of each warp's elements.
template <int ELEMENTS, class Chunk>
FUNCTION void bring_to_units(LaneQueries<ELEMENTS, Chunk>& queries, LaneRows& rows, Shared<float> tops) {
  using Queries = LaneQueries<ELEMENTS, Chunk>;
  float top[2] = {};
  UNROLL for (int at = 0; at < Queries::steps; at++)
    UNROLL for (int i = 0; i < 8; i++) top[i / 2 % 2] = largest(top[i / 2 % 2], absolute(queries.of[at].values[i]));
  UNROLL for (int r = 0; r < 2; r++) {
    top[r] = largest(top[r], shuffle_xor(top[r], 1));
    top[r] = largest(top[r], shuffle_xor(top[r], 2));
    if (lane() % 4 == 0) tops[warp() * PACKED + lane() / 4 + r * 8] = top[r];
  }
  barrier();
  UNROLL for (int r = 0; r < 2; r++) {
    UNROLL for (int w = 0; w < Chunk::warps; w++) top[r] = largest(top[r], tops[w * PACKED + lane() / 4 + r * 8]);
    const float unit = unit_of(top[r]);
    rows.scale[r] *= inverse_of_unit(unit);
    UNROLL for (int at = 0; at < Queries::steps; at++)
      UNROLL for (int i = 0; i < 8; i++)
        if (i / 2 % 2 == r) queries.of[at].values[i] *= unit;
  }
}

// qs [parts, ELEMENTS / 16, WARP]: fragments of the queries, behind the block's next barrier.
template <int ELEMENTS, class Chunk>
FUNCTION void put_queries(LaneQueries<ELEMENTS, Chunk> queries, LaneRows& rows, PackedTile tile, int d, Shared<float> tops,
                          Shared<Uint4> qs) {
  using Operands = typename Chunk::Operands;
  using Queries = LaneQueries<ELEMENTS, Chunk>;
  constexpr int STEPS = ELEMENTS / 16, PARTS = Operands::parts;
  UNROLL for (int at = 0; at < Queries::steps; at++)
    UNROLL for (int i = 0; i < 8; i++) {
      const bool inside = lane() / 4 + i / 2 % 2 * 8 < tile.count && Queries::element(at, i) < d;
      queries.of[at].values[i] = inside ? queries.of[at].values[i] : 0.0f;
    }
  if (Operands::narrow) bring_to_units(queries, rows, tops);
  UNROLL for (int at = 0; at < Queries::steps; at++)
    UNROLL for (int p = 0; p < PARTS; p++)
      qs[(p * STEPS + Queries::step(at)) * WARP + lane()] =
          p == PARTS - 1 ? Operands::template take<true>(queries.of[at]) : Operands::template take<false>(queries.of[at]);
}

struct TwoTiles { // of 16 rows: scores or weights of 16 keys
  Sums16x8 of[2];
};

FUNCTION Fragment16x16 as_fragment(Uint4 words) { return {{words[0], words[1], words[2], words[3]}}; }

template <int ELEMENTS, class Chunk>
FUNCTION TwoTiles dot_products(Shared<Uint4> qs, Shared<typename Chunk::Unit> chunk, int d) {
  using Operands = typename Chunk::Operands;
  constexpr int STEPS = ELEMENTS / 16, PARTS = Operands::parts;
  TwoTiles sums[PARTS] = {}; // apart: products do not wait for each other
  UNROLL for (int step = 0; step < STEPS; step++) {
    if (step * 16 >= d) break;
    const TwoKeyTiles keys = Chunk::keys(chunk, step);
    UNROLL for (int p = 0; p < PARTS; p++) {
      const Fragment16x16 q = as_fragment(qs[(p * STEPS + step) * WARP + lane()]);
      UNROLL for (int n = 0; n < 2; n++) Operands::multiply(sums[p].of[n], q, keys.of[n]);
    }
  }
  UNROLL for (int p = PARTS - 1; p > 0; p--)
    UNROLL for (int n = 0; n < 2; n++) add_sums(sums[p - 1].of[n], sums[p].of[n]);
  return sums[0];
}

// Of a lane's rows.
template <int ELEMENTS>
struct GroupSeen {
  float highest[2], total[2], shrink[2]; // shrink: of the sums, by the last keys
  Sums16x8 y[ELEMENTS / 8];
};

// A key of a lane's tile.
FUNCTION int key_of(int n, int i) { return n * 8 + lane() % 4 * 2 + i % 2; }

// Dot products become weights; the running softmax goes on. scales: of key `lane()`, of value `lane() - 16`.
template <bool SCALED, int ELEMENTS>
FUNCTION void weigh(GroupSeen<ELEMENTS>& seen, TwoTiles& tiles, const LaneRows& rows, int start, float scales, float soft_cap) {
  float highest[2] = {seen.highest[0], seen.highest[1]};
  UNROLL for (int n = 0; n < 2; n++)
    UNROLL for (int i = 0; i < 4; i++) {
      const int key = start + key_of(n, i);
      float score = tiles.of[n].values[i] * rows.scale[i / 2];
      if (SCALED) score *= shuffle(scales, key_of(n, i));
      if (soft_cap > 0) score = soft_cap * hyperbolic_tangent(score / soft_cap);
      tiles.of[n].values[i] = key >= rows.sees[i / 2].first && key < rows.sees[i / 2].end ? score : -infinity();
      highest[i / 2] = largest(highest[i / 2], tiles.of[n].values[i]);
    }
  UNROLL for (int r = 0; r < 2; r++) {
    highest[r] = largest(highest[r], shuffle_xor(highest[r], 1));
    highest[r] = largest(highest[r], shuffle_xor(highest[r], 2));
    seen.shrink[r] = exponential(seen.highest[r] - shift_of(highest[r]));
    seen.highest[r] = highest[r];
    seen.total[r] *= seen.shrink[r];
  }
  UNROLL for (int n = 0; n < 2; n++)
    UNROLL for (int i = 0; i < 4; i++) {
      const float weight = exponential(tiles.of[n].values[i] - shift_of(seen.highest[i / 2]));
      seen.total[i / 2] += weight;
      tiles.of[n].values[i] = SCALED ? weight * shuffle(scales, CHUNK_KEYS + key_of(n, i)) : weight;
    }
}

// y = y · shrink + weights · V / unit. `unit`: of the weights, a power of two.
template <int ELEMENTS, class Chunk>
FUNCTION void add_values(GroupSeen<ELEMENTS>& seen, const TwoTiles& weights, Shared<typename Chunk::Unit> chunk, float unit, int d) {
  using Operands = typename Chunk::Operands;
  constexpr int PARTS = Operands::parts;
  Eight words;
  UNROLL for (int i = 0; i < 8; i++) words.values[i] = weights.of[i / 4].values[i % 4] * unit;
  Fragment16x16 parts[PARTS];
  UNROLL for (int p = 0; p < PARTS; p++)
    parts[p] = as_fragment(p == PARTS - 1 ? Operands::template take<true>(words) : Operands::template take<false>(words));
  const float inverse = inverse_of_unit(unit);
  UNROLL for (int four = 0; four < ELEMENTS / 32; four++) {
    if (four * 32 >= d) break;
    const FourValueTiles values = Chunk::tiles(chunk, four);
    UNROLL for (int n = 0; n < 4; n++) {
      Sums16x8 sums = {};
      UNROLL for (int p = 0; p < PARTS; p++) Operands::multiply(sums, parts[p], values.of[n]);
      Sums16x8& y = seen.y[four * 4 + n];
      UNROLL for (int i = 0; i < 4; i++)
        y.values[i] = fused(y.values[i], seen.shrink[i / 2], Operands::narrow ? sums.values[i] * inverse : sums.values[i]);
    }
  }
}

// Keys of a warp on their way.
template <class Chunk, class Kind>
struct ChunkSource {
  CachedKeys<Kind> keys;
  Shared<typename Chunk::Unit> chunks; // [2, Chunk::units]
  int end, d;

  // Begins the copies of 16 keys; those from `end` on are the last one again. The scales of lane's key and value.
  FUNCTION float copy(int start, int turn) const {
    const int key = start + lane() % CHUNK_KEYS, slot = keys.slot(key < end ? key : end - 1);
    const int64_t step = int64_t(keys.kv_heads) * keys.bytes, first = int64_t(keys.kv_head) * keys.bytes;
    Chunk::copy(chunks + turn * Chunk::units, keys.k + first, keys.v + first, slot, step, d);
    return Kind::scale((lane() < CHUNK_KEYS ? keys.k : keys.v) + (slot * step + first), d);
  }
  FUNCTION void clear_beyond() const {
    for (int i = lane(); i < 2 * Chunk::units; i += WARP)
      if (Chunk::element_of_unit(i % Chunk::values) >= d) chunks[i] = Chunk::zero();
  }
  // The first keys, from `first` on.
  template <int ELEMENTS>
  FUNCTION float begin(int first) const {
    if (d < ELEMENTS) clear_beyond();
    const float scales = first < end ? copy(first, 0) : 0.0f;
    copies_commit();
    return scales;
  }
};

// coming: of the first keys, which `source` has begun to copy.
template <int ELEMENTS, class Chunk, class Kind>
FUNCTION void attend_chunks(GroupSeen<ELEMENTS>& seen, const ChunkSource<Chunk, Kind>& source, Shared<Uint4> qs, const LaneRows& rows,
                            int first, float coming, float soft_cap) {
  const int step = block_threads() / WARP * CHUNK_KEYS;
  int turn = 0;
  for (int start = first; start < source.end; start += step, turn = 1 - turn) {
    warp_barrier(); // the keys before have been read
    const float scales = coming;
    if (start + step < source.end) coming = source.copy(start + step, 1 - turn);
    copies_commit();
    copies_wait<1>();
    warp_barrier();
    const Shared<typename Chunk::Unit> chunk = source.chunks + turn * Chunk::units;
    TwoTiles tiles = dot_products<ELEMENTS, Chunk>(qs, chunk, source.d);
    weigh<bool(Chunk::scaled)>(seen, tiles, rows, start, scales, soft_cap);
    const float top = Chunk::scaled ? warp_max(lane() < CHUNK_KEYS ? 0.0f : scales) : 1.0f;
    add_values<ELEMENTS, Chunk>(seen, tiles, chunk, Chunk::Operands::narrow ? unit_of(top) : 1.0f, source.d);
  }
  copies_wait<0>();
}

// Where a row's result goes: y, or its part.
FUNCTION void put_result(const Attention& args, int64_t head, int part, int element, float sum, float highest, float total) {
  if (!args.merged) args.y[head * args.d + element] = sum / total;
  else Part{args.partial + (head * args.parts + part) * (args.d + 2), 0}.put(0, args.d, element, sum, highest, total);
}

// softmaxes [warps, 16, 2]: highest and total. The sums of a warp lie where its keys were.
template <int ELEMENTS, class Chunk>
FUNCTION void merge_warps(const Attention& args, GroupSeen<ELEMENTS>& seen, PackedTile tile, const LaneRows& rows, int part,
                          Shared<typename Chunk::Unit> chunks, Shared<float> softmaxes) {
  warp_barrier(); // the keys have been read
  UNROLL for (int r = 0; r < 2; r++) {
    seen.total[r] += shuffle_xor(seen.total[r], 1);
    seen.total[r] += shuffle_xor(seen.total[r], 2);
    const int at = (warp() * PACKED + lane() / 4 + r * 8) * 2;
    if (lane() % 4 == 0) softmaxes[at] = seen.highest[r], softmaxes[at + 1] = seen.total[r];
  }
  UNROLL for (int n = 0; n < ELEMENTS / 8; n++) put_sums(chunks + warp() * 2 * Chunk::units, n * WARP + lane(), seen.y[n]);
  barrier();
  const int warps = block_threads() / WARP;
  for (int item = thread_index(); item < ELEMENTS / 8 * WARP; item += block_threads()) {
    float highest[2] = {-infinity(), -infinity()}, total[2] = {};
    Sums16x8 y = {};
    for (int w = 0; w < warps; w++)
      UNROLL for (int r = 0; r < 2; r++)
        highest[r] = largest(highest[r], softmaxes[(w * PACKED + lane() / 4 + r * 8) * 2]);
    for (int w = 0; w < warps; w++) {
      const Sums16x8 sums = get_sums(chunks + w * 2 * Chunk::units, item);
      UNROLL for (int r = 0; r < 2; r++) {
        const int at = (w * PACKED + lane() / 4 + r * 8) * 2;
        const float shrink = exponential(softmaxes[at] - shift_of(highest[r]));
        total[r] = fused(softmaxes[at + 1], shrink, total[r]);
        UNROLL for (int i = 2 * r; i < 2 * r + 2; i++) y.values[i] = fused(sums.values[i], shrink, y.values[i]);
      }
    }
    UNROLL for (int i = 0; i < 4; i++) {
      const int m = lane() / 4 + i / 2 * 8, element = Chunk::element_of_sum(item / WARP, lane() % 4 * 2 + i % 2);
      if (m < tile.count && element < args.d)
        put_result(args, rows.head[i / 2], part, element, y.values[i], highest[i / 2], total[i / 2]);
    }
  }
}

// Parts that have keys, for each row of the tile: by one warp.
FUNCTION void put_filled(const Attention& args, PackedTile tile, const LaneRows& rows, int filled) {
  UNROLL for (int r = 0; r < 2; r++)
    if (lane() % 4 == 0 && lane() / 4 + r * 8 < tile.count) args.filled[rows.head[r]] = filled;
}

// A part without keys ends at once. Others begin with what takes long: the loads of the queries, then of the block table, then of keys. tops: of put_queries.
template <int ELEMENTS, class Kind, class Chunk>
FUNCTION void attend_packed(const Attention& args, PackedTile tile, int group, int kv_head, int part, Shared<float> sums,
                            Shared<float> tops, Shared<Uint4> qs, Shared<typename Chunk::Unit> chunks, Shared<float> softmaxes) {
  const int last = (tile.first + tile.count - 1) / group;
  const KeyRange all = {keys_of_row(args, tile, tile.first / group).first, keys_of_row(args, tile, last).end};
  const KeyRange range = keys_of_part(all, part, args.parts, args.least_keys);
  if (part > 0 && range.first >= range.end) return;
  LaneRows rows = lane_rows(args, tile, group, kv_head, range);
  if (args.merged && part == 0 && warp() == 0) put_filled(args, tile, rows, filled_parts(all, args.parts, args.least_keys));
  const LaneQueries<ELEMENTS, Chunk> queries = load_queries<ELEMENTS, Chunk>(args, rows);

  const Global<const int> table = args.table + int64_t(tile.sequence) * args.table_width;
  const int block = range.first / args.block_size, blocks = (range.end + args.block_size - 1) / args.block_size - block;
  if (!blocks_exist(table + block, blocks, args.blocks, sums)) return flag_batch(args);
  const CachedKeys<Kind> keys = {args.k, args.v, table, args.block_size, args.kv_heads, kv_head, Kind::bytes(args.d)};
  const ChunkSource<Chunk, Kind> source = {keys, chunks + warp() * 2 * Chunk::units, range.end, args.d};
  const int first = range.first + warp() * CHUNK_KEYS;
  const float coming = source.template begin<ELEMENTS>(first);

  put_queries<ELEMENTS, Chunk>(queries, rows, tile, args.d, tops, qs);
  barrier();
  GroupSeen<ELEMENTS> seen = {{-infinity(), -infinity()}, {}, {}, {}};
  attend_chunks<ELEMENTS>(seen, source, qs, rows, first, coming, args.soft_cap);
  merge_warps<ELEMENTS, Chunk>(args, seen, tile, rows, part, chunks, softmaxes);
}

template <int ELEMENTS, class Kind, class Chunk>
FUNCTION void attention_group(const GroupAttention& args, Shared<float> sums, Shared<float> tops, Shared<Uint4> qs,
                              Shared<typename Chunk::Unit> chunks, Shared<float> softmaxes) {
  const Attention& of = args.of;
  const int place = block_index() / of.parts, part = block_index() - place * of.parts;
  const int tile = place / of.kv_heads, kv_head = place - tile * of.kv_heads;
  const int sequence = checked_sequence(of, TilesBefore{args, tile});
  if (sequence < 0) return flag_batch(of);
  const PackedTile packed = packed_tile(args, tile, sequence);
  if (packed.count > 0) attend_packed<ELEMENTS, Kind, Chunk>(of, packed, args.group, kv_head, part, sums, tops, qs, chunks, softmaxes);
}

#define ATTENTION_GROUP(elements, Kind, name)                                                                          \
  KERNEL_OF(attention_group_##elements##_##name, GroupAttention, (ChunkOf<elements, Kind>::warps * WARP), 2) {      \
    using Chunk = ChunkOf<elements, Kind>;                                                                             \
    constexpr int WARPS = Chunk::warps;                                                                                \
    SHARED(float, sums, WARPS);                                                                                        \
    SHARED(float, tops, WARPS * PACKED);                                                                               \
    SHARED(Uint4, qs, Chunk::Operands::parts * elements / 16 * WARP);                                                  \
    SHARED(Chunk::Unit, chunks, WARPS * 2 * Chunk::units);                                                             \
    SHARED(float, softmaxes, WARPS * PACKED * 2);                                                                      \
    attention_group<elements, Kind, Chunk>(args, sums, tops, qs, chunks, softmaxes);                                   \
  }
#define ATTENTION_GROUPS(Kind, name) \
  ATTENTION_GROUP(64, Kind, name)    \
  ATTENTION_GROUP(128, Kind, name)
ATTENTION_GROUPS(CacheF16, f16)
ATTENTION_GROUPS(CacheBf16, bf16)
ATTENTION_GROUPS(CacheI8, i8)
ATTENTION_GROUPS(CacheE4m3, e4m3)
#undef ATTENTION_GROUPS
#undef ATTENTION_GROUP

} // namespace gpu
} // namespace quern
