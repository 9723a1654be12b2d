// Positions, caches, attention.
#include "gpu/op-call.h"
#include "gpu/ops/caches.h"
#include "gpu/ops/matrices.h"
#include "gpu/ops/ops.h"
#include "kernels/kv-append.h"
#include "kernels/rope-table.h"
#include "kernels/rope.h"
#include "quern/failure.h"

namespace quern::gpu {

static constexpr int attention_threads = ATTENTION_WARPS * WARP, append_threads = 128;
static constexpr int64_t most_d = ATTENTION_WIDTH;

void need_small_heads(const OpCall& op, int64_t d) {
  if (d > most_d)
    fail(Code::unsupported, "[%s] heads of %lld elements; this device has kernels up to %lld", op.name(), (long long)d,
         (long long)most_d);
}

// A cache buffer [blocks, block_size, heads, d]; caches of i8 and u8 (E4M3) have d + 4.
struct GpuCache {
  Byte* data;
  const char* suffix;
  int64_t blocks, block_size;
};

static GpuCache cache(const OpCall& op, int index, int64_t heads, int64_t d) {
  const Operand& o = op.operand(index);
  static constexpr const char* suffixes[] = {"_f32", "_f16", "_bf16", nullptr, "_i8", "_e4m3"};
  const char* const suffix = suffixes[int(o.dtype)];
  const int64_t row = o.dtype == DType::i8 || o.dtype == DType::u8 ? d + 4 : d;
  op.need(suffix && o.rank == 4 && o.shape[2] == heads && o.shape[3] == row, "a cache must be [blocks, blockSize, Hk, d]");
  return {reinterpret_cast<Byte*>(o.data), suffix, o.shape[0], o.shape[1]};
}

void rope_table(const OpCall& op) {
  const int64_t T = op.operand(RopeTableOp::POSITIONS).count;
  const quern::Floats frequencies = op.floats(RopeTableOp::FREQUENCIES, 1), table = op.floats(RopeTableOp::TABLE, 2);
  op.need(table.shape[0] == T && table.width() == 2 * frequencies.count, "table must be [T, R]");
  if (table.count > 0)
    op.launch("rope_table", T, threads_of_row(frequencies.count),
              RopeTable{op.ids(RopeTableOp::POSITIONS), frequencies.data, table.data, op.small(frequencies.count),
                        op.number(RopeTableOp::MAGNITUDE)});
}

void rope(const OpCall& op) {
  const quern::Floats x = op.floats(RopeOp::X, 3), table = op.floats(RopeOp::TABLE, 2), y = op.floats(RopeOp::Y, 3);
  const int64_t T = x.shape[0], H = x.shape[1], d = x.width(), R = table.width();
  op.need(x.same_shape(y) && table.shape[0] == T && R <= d && R % 2 == 0, "table must be [T, R], R at most d and even");
  if (y.count > 0)
    op.launch("rope", T, threads_of_row(H * d),
              Rope{x.data, table.data, y.data, op.small(H), op.small(d), op.small(R / 2), op.integer(RopeOp::LAYOUT)});
}

// Heads and their size are the same: `cache` has compared them.
static bool alike(const GpuCache& a, const GpuCache& b) {
  return a.suffix == b.suffix && a.blocks == b.blocks && a.block_size == b.block_size;
}

AppendCall append_call(const OpCall& op, const Append& append) {
  const GpuCache keys = cache(op, append.k_cache, append.heads, append.d), values = cache(op, append.v_cache, append.heads, append.d);
  const int64_t slots = keys.blocks * keys.block_size;
  op.need(op.operand(append.slots).count == append.rows && alike(keys, values),
          "slots must be [T], the caches alike");
  return {{append.k, append.v, op.ids(append.slots), keys.data, values.data, op.small(append.heads), op.small(append.d),
           op.small(slots), op.fault, op.index},
          keys.suffix};
}

void launch_kv_append(const OpCall& op, const Append& append) {
  const AppendCall call = append_call(op, append);
  op.launch(std::string("kv_append") + call.suffix, append.rows, append_threads, call.args);
}

void kv_append(const OpCall& op) {
  const quern::Floats k = op.floats(KvAppendOp::K, 3), v = op.floats(KvAppendOp::V, 3);
  op.need(k.same_shape(v), "k and v must be [T, Hk, d]");
  launch_kv_append(op, {k.data, v.data, KvAppendOp::SLOTS, KvAppendOp::K_CACHE, KvAppendOp::V_CACHE, k.shape[0], k.shape[1], k.width()});
}

// Tiles of heads that share a key head.
static int64_t tiles_of_row(int64_t heads, int64_t kv_heads, int64_t d) {
  const int64_t group = heads / kv_heads, most = block_heads(int(group), int(d));
  return (group + most - 1) / most * kv_heads;
}

void split_keys(const OpCall& op, Attention& args, int64_t tiles, int64_t blocks) {
  args.parts = int(parts_of_keys(int64_t(args.table_width) * args.block_size, tiles, blocks));
  args.merged = args.parts > 1 || op.present(AttentionOp::SINKS);
  if (!args.merged) return;
  const int64_t results = int64_t(args.rows) * args.heads;
  args.partial = op.scratch<float>(results * args.parts * (args.d + 2));
  args.filled = op.scratch<int>(results);
}

void merge_parts(const OpCall& op, const Attention& args) {
  if (args.merged)
    op.launch("attention_merge", int64_t(args.rows) * args.heads, MERGE_WARPS * WARP,
              AttentionMerge{args.partial, args.filled, args.y, op.vector(AttentionOp::SINKS, args.heads), args.parts, args.d,
                             args.heads, op.present(AttentionOp::SINKS)});
}

static void launch_rows(const OpCall& op, Attention args, const std::string& suffix) {
  constexpr int64_t blocks_of_processor = 6;
  const int64_t tiles = args.rows * tiles_of_row(args.heads, args.kv_heads, args.d);
  split_keys(op, args, tiles, op.processors() * blocks_of_processor);
  op.launch("attention" + suffix, tiles * args.parts, attention_threads, args);
  merge_parts(op, args);
}

void attention(const OpCall& op) {
  const quern::Floats q = op.floats(AttentionOp::Q, 3), y = op.floats(AttentionOp::Y, 3);
  const Operand& table = op.operand(AttentionOp::BLOCK_TABLE);
  const int64_t T = q.shape[0], H = q.shape[1], d = q.width(), Hk = op.operand(AttentionOp::K_CACHE).shape[2];
  const GpuCache keys = cache(op, AttentionOp::K_CACHE, Hk, d), values = cache(op, AttentionOp::V_CACHE, Hk, d);
  op.need(table.rank == 2 && op.operand(AttentionOp::CU_SEQLENS).count == table.shape[0] + 1 &&
              op.operand(AttentionOp::KV_LENGTHS).count == table.shape[0],
          "cuSeqlens must be [S + 1], kvLengths [S], blockTable [S, B]");
  op.need(q.same_shape(y) && Hk > 0 && H % Hk == 0 && alike(keys, values) && keys.block_size > 0,
          "y must have the shape of q, the caches alike, H a multiple of Hk");
  need_small_heads(op, d);
  if (y.count == 0) return;
  const Attention args{q.data,
                       keys.data,
                       values.data,
                       op.ids(AttentionOp::CU_SEQLENS),
                       op.ids(AttentionOp::KV_LENGTHS),
                       op.ids(AttentionOp::BLOCK_TABLE),
                       y.data,
                       nullptr,
                       nullptr,
                       1,
                       LEAST_KEYS,
                       0,
                       op.small(T),
                       op.small(H),
                       op.small(Hk),
                       op.small(d),
                       op.small(keys.blocks),
                       op.small(keys.block_size),
                       op.small(table.shape[0]),
                       op.small(table.shape[1]),
                       op.number(AttentionOp::SCALE),
                       op.number(AttentionOp::SOFT_CAP),
                       op.integer(AttentionOp::CAUSAL),
                       op.integer(AttentionOp::WINDOW),
                       op.fault,
                       op.index};
  if (!launch_matrix_attention(op, args, keys.suffix, op.flag(AttentionOp::BF16))) launch_rows(op, args, keys.suffix);
}

void uncached_attention(const OpCall& op) {
  using Op = UncachedAttentionOp;
  const quern::Floats q = op.floats(Op::Q, 3), k = op.floats(Op::K, 3), v = op.floats(Op::V, 3), y = op.floats(Op::Y, 3);
  const int64_t T = q.shape[0], H = q.shape[1], d = q.width(), Hk = k.shape[1], S = op.operand(Op::CU_KEYS).count - 1;
  op.need(q.same_shape(y) && k.same_shape(v) && k.width() == d && Hk > 0 && H % Hk == 0 &&
              op.operand(Op::CU_SEQLENS).count == S + 1,
          "q must be [T, H, d], k and v [Tk, Hk, d]");
  need_small_heads(op, d);
  if (y.count == 0) return;
  const UncachedAttention args{q.data,        k.data,         v.data,        op.ids(Op::CU_SEQLENS),     op.ids(Op::CU_KEYS),
                               y.data,        op.small(T),    op.small(k.shape[0]), op.small(H),         op.small(Hk),
                               op.small(d),   op.small(S),    op.number(Op::SCALE), op.number(Op::SOFT_CAP),
                               op.integer(Op::CAUSAL),        op.integer(Op::WINDOW), op.fault,          op.index};
  if (!launch_matrix_attention(op, args, op.flag(Op::BF16)))
    op.launch("uncached_attention", T * tiles_of_row(H, Hk, d), attention_threads, args);
}

}  // namespace quern::gpu
