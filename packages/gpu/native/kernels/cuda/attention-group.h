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

FUNCTION int group_of(const Attention& args) { return args.heads / args.kv_heads; }

// Tiles before those of sequence s, with tiles that have no rows.
FUNCTION int first_tile(const GroupAttention& args, int s) {
  const int row = args.of.bounds[s];
  return args.tile_per_row ? row : int(long(row) * group_of(args.of) / PACKED) + s;
}

// Rows [first, first + count) of a sequence's rows × group. Sequence −1: there is no such tile.
struct PackedTile {
  int sequence, first, count;
};

FUNCTION PackedTile packed_tile(const GroupAttention& args, int tile, Shared<float> sums) {
  float before = 0;
  for (int s = thread_index(); s < args.of.sequences; s += block_threads()) before += first_tile(args, s + 1) <= tile ? 1.0f : 0.0f;
  const int s = int(block_sum(before, sums));
  if (s >= args.of.sequences) return {-1, 0, 0};
  const int first = (tile - first_tile(args, s)) * PACKED;
  const int count = (args.of.bounds[s + 1] - args.of.bounds[s]) * group_of(args.of) - first;
  return {count > 0 ? s : -1, first, count < PACKED ? count : PACKED};
}

// Row m of a tile: its row and head of the batch.
struct PackedRow {
  int row, head;
};
FUNCTION PackedRow packed_row(const Attention& args, PackedTile tile, int kv_head, int m) {
  const int group = group_of(args), at = tile.first + m;
  return {args.bounds[tile.sequence] + at / group, kv_head * group + at % group};
}
FUNCTION long query_at(const Attention& args, PackedRow at) { return (long(at.row) * args.heads + at.head) * args.d; }

// Keys that a row sees.
FUNCTION KeyRange keys_of_row(const Attention& args, int s, int row) {
  const int length = args.lengths[s], position = length - args.bounds[s + 1] + row;
  return {first_key(position, args.window), args.causal ? position + 1 : length};
}

// The power of two by which each row of q is multiplied.
template <class Operands>
FUNCTION void find_units(const Attention& args, PackedTile tile, int kv_head, Shared<float> units) {
  for (int m = warp(); m < PACKED; m += block_threads() / WARP) {
    float top = 0;
    if (Operands::narrow && m < tile.count) {
      const Global<const float> q = args.q + query_at(args, packed_row(args, tile, kv_head, m));
      for (int i = lane(); i < args.d; i += WARP) top = largest(top, absolute(q[i]));
    }
    top = warp_max(top);
    if (lane() == 0) units[m] = Operands::narrow ? unit_of(top) : 1.0f;
  }
}

// qs [parts, ELEMENTS / 16, WARP]: fragments of the queries.
template <int ELEMENTS, class Chunk>
FUNCTION void put_queries(const Attention& args, PackedTile tile, int kv_head, Shared<float> units, Shared<Uint4> qs) {
  using Operands = typename Chunk::Operands;
  constexpr int STEPS = ELEMENTS / 16, PARTS = Operands::parts;
  for (int step = warp(); step < STEPS; step += block_threads() / WARP) {
    Eight words;
    UNROLL for (int i = 0; i < 8; i++) {
      const int m = lane() / 4 + i / 2 % 2 * 8, element = Chunk::element_of_q(step, lane() % 4 * 2 + i / 4 * 8 + i % 2);
      const bool inside = m < tile.count && element < args.d;
      const long at = inside ? query_at(args, packed_row(args, tile, kv_head, m)) + element : 0;
      words.values[i] = inside ? args.q[at] * units[m] : 0.0f;
    }
    UNROLL for (int p = 0; p < PARTS; p++)
      qs[(p * STEPS + step) * WARP + lane()] = p == PARTS - 1 ? Operands::template take<true>(words) : Operands::template take<false>(words);
  }
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

// A lane's rows are lane / 4 and 8 more.
template <int ELEMENTS>
struct GroupSeen {
  float highest[2], total[2], shrink[2]; // shrink: of the sums, by the last keys
  Sums16x8 y[ELEMENTS / 8];
};
struct LaneRows {
  KeyRange sees[2];
  float scale[2];
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
    const long step = long(keys.kv_heads) * keys.bytes, first = long(keys.kv_head) * keys.bytes;
    Chunk::copy(chunks + turn * Chunk::units, keys.k + first, keys.v + first, slot, step, d);
    return Kind::scale((lane() < CHUNK_KEYS ? keys.k : keys.v) + (slot * step + first), d);
  }
  FUNCTION void clear_beyond() const {
    for (int i = lane(); i < 2 * Chunk::units; i += WARP)
      if (Chunk::element_of_unit(i % Chunk::values) >= d) chunks[i] = Chunk::zero();
  }
};

template <int ELEMENTS, class Chunk, class Kind>
FUNCTION void attend_chunks(GroupSeen<ELEMENTS>& seen, const ChunkSource<Chunk, Kind>& source, Shared<Uint4> qs, const LaneRows& rows,
                            int first, float soft_cap) {
  const int step = block_threads() / WARP * CHUNK_KEYS;
  int turn = 0;
  float coming = 0;
  if (source.d < ELEMENTS) source.clear_beyond();
  if (first < source.end) coming = source.copy(first, 0);
  copies_commit();
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
FUNCTION void put_result(const Attention& args, PackedRow at, int part, int element, float sum, float highest, float total) {
  const long head = long(at.row) * args.heads + at.head;
  if (args.parts == 1) args.y[head * args.d + element] = sum / total;
  else Part{args.partial + (head * args.parts + part) * (args.d + 2), 0}.put(0, args.d, element, sum, highest, total);
}

// softmaxes [warps, 16, 2]: highest and total. The sums of a warp lie where its keys were.
template <int ELEMENTS, class Chunk>
FUNCTION void merge_warps(const Attention& args, GroupSeen<ELEMENTS>& seen, PackedTile tile, int kv_head, int part,
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
        put_result(args, packed_row(args, tile, kv_head, m), part, element, y.values[i], highest[i / 2], total[i / 2]);
    }
  }
}

// units: of the queries [16].
template <int ELEMENTS, class Kind, class Chunk>
FUNCTION void attend_packed(const Attention& args, PackedTile tile, int kv_head, int part, KeyRange range, Shared<float> units,
                            Shared<Uint4> qs, Shared<typename Chunk::Unit> chunks, Shared<float> softmaxes) {
  find_units<typename Chunk::Operands>(args, tile, kv_head, units);
  barrier();
  put_queries<ELEMENTS, Chunk>(args, tile, kv_head, units, qs);
  barrier();
  LaneRows rows;
  UNROLL for (int r = 0; r < 2; r++) {
    const int m = lane() / 4 + r * 8;
    rows.sees[r] = m < tile.count ? keys_of_row(args, tile.sequence, packed_row(args, tile, kv_head, m).row) : KeyRange{0, 0};
    rows.sees[r].end = rows.sees[r].end < range.end ? rows.sees[r].end : range.end;
    rows.scale[r] = args.scale * inverse_of_unit(units[m]);
  }
  const Global<const int> table = args.table + long(tile.sequence) * args.table_width;
  const CachedKeys<Kind> keys = {args.k, args.v, table, args.block_size, args.kv_heads, kv_head, Kind::bytes(args.d)};
  const ChunkSource<Chunk, Kind> source = {keys, chunks + warp() * 2 * Chunk::units, range.end, args.d};
  GroupSeen<ELEMENTS> seen = {{-infinity(), -infinity()}, {}, {}, {}};
  attend_chunks<ELEMENTS>(seen, source, qs, rows, range.first + warp() * CHUNK_KEYS, args.soft_cap);
  merge_warps<ELEMENTS, Chunk>(args, seen, tile, kv_head, part, chunks, softmaxes);
}

template <int ELEMENTS, class Kind, class Chunk>
FUNCTION void attention_group(const GroupAttention& args, Shared<float> sums, Shared<float> units, Shared<Uint4> qs,
                              Shared<typename Chunk::Unit> chunks, Shared<float> softmaxes) {
  const Attention& of = args.of;
  const int part = block_index() % of.parts, kv_head = block_index() / of.parts % of.kv_heads;
  bool right = bounds_rise(of.bounds, of.sequences, of.rows, sums) && lengths_fit(of, sums + ATTENTION_WARPS);
  PackedTile tile = {-1, 0, 0};
  KeyRange range = {0, 0};
  if (right) {
    tile = packed_tile(args, block_index() / of.parts / of.kv_heads, sums + 2 * ATTENTION_WARPS);
    if (tile.sequence < 0) return;
    const int first = packed_row(of, tile, 0, 0).row, last = packed_row(of, tile, 0, tile.count - 1).row;
    const KeyRange all = {keys_of_row(of, tile.sequence, first).first, keys_of_row(of, tile.sequence, last).end};
    range = keys_of_part(all, part, of.parts, of.least_keys);
    const int block = range.first / of.block_size, blocks = (range.end + of.block_size - 1) / of.block_size - block;
    const Global<const int> table = of.table + (long(tile.sequence) * of.table_width + block);
    right = blocks_exist(table, blocks, of.blocks, sums + 3 * ATTENTION_WARPS);
  }
  if (!right) {
    if (thread_index() == 0) flag(of.fault, of.op, OUT_OF_RANGE);
    return;
  }
  attend_packed<ELEMENTS, Kind, Chunk>(of, tile, kv_head, part, range, units, qs, chunks, softmaxes);
}

#define ATTENTION_GROUP(elements, Kind, name)                                                                          \
  KERNEL_OF(attention_group_##elements##_##name, GroupAttention, (ChunkOf<elements, Kind>::warps * WARP), 2) {      \
    using Chunk = ChunkOf<elements, Kind>;                                                                             \
    constexpr int WARPS = Chunk::warps;                                                                                \
    SHARED(float, sums, 4 * ATTENTION_WARPS);                                                                          \
    SHARED(float, units, PACKED);                                                                                      \
    SHARED(Uint4, qs, Chunk::Operands::parts * elements / 16 * WARP);                                                  \
    SHARED(Chunk::Unit, chunks, WARPS * 2 * Chunk::units);                                                             \
    SHARED(float, softmaxes, WARPS * PACKED * 2);                                                                      \
    attention_group<elements, Kind, Chunk>(args, sums, units, qs, chunks, softmaxes);                                  \
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
