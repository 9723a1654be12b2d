// Attention on tensor cores.
#include <stdlib.h>

#include <algorithm>

#include "gpu/ops/matrices.h"
#include "kernels/cuda/group-arguments.h"

namespace quern::gpu {

// kernels/cuda/attention-group.h. Sequences end with a part of a tile: of the two bounds of their number, the lower one.
static void launch_group(const OpCall& op, Attention args, const std::string& suffix) {
  constexpr int64_t blocks_of_processor = 4;  // of 2 or 4 warps
  const bool halves = suffix == "_f16" || suffix == "_bf16";
  const int elements = args.d <= 64 ? 64 : 128, warps = elements > 64 && halves ? GROUP_WARPS_WIDE_HALVES : GROUP_WARPS;
  const int group = args.heads / args.kv_heads;
  const int64_t packed = int64_t(args.rows) * group / PACKED + args.sequences;
  const int64_t tiles = std::min<int64_t>(args.rows, packed) * args.kv_heads;
  split_keys(op, args, tiles, op.processors() * blocks_of_processor + tiles / 2);
  op.launch("attention_group_" + std::to_string(elements) + suffix, tiles * args.parts, warps * WARP,
            GroupAttention{args, group, args.rows <= packed});
  merge_parts(op, args);
}

// Numbers of bf16 that q and the softmax weights become: 3 for products of floats.
static int parts_of_q(const OpCall& op, int d, bool bf16) {
  if (op.precision == Precision::exact) return 3;
  return bf16 ? 1 : d <= 64 ? 3 : 2;
}

// Whether kernels/cuda/attention-tiles.h takes this: sequences of many rows, heads of at most 128 elements, 64 with three parts.
template <class Args>
static bool takes_tiles(const Args& args, int parts) {
  constexpr int least_rows = 16; // of a sequence, on average
  return takes_heads(args, parts == 3 ? 64 : 128) && args.rows >= least_rows * args.sequences;
}

// Whether kernels/cuda/attention-group.h takes this: at most 16 heads that share a key head; with `exact` only caches of bf16, whose
// products are those of floats. QUERN_CUDA_ATTENTION=rows: never, to measure the other.
static bool takes_group(const OpCall& op, const Attention& args, const std::string& suffix) {
  static const char* const forced = getenv("QUERN_CUDA_ATTENTION");
  const bool floats = suffix == "_bf16", stored = floats || suffix == "_f16" || suffix == "_i8" || suffix == "_e4m3";
  return takes_heads(args, 128) && args.heads / args.kv_heads <= PACKED && stored &&
         (floats || op.precision != Precision::exact) && !(forced && std::string(forced) == "rows");
}

template <class Args>
static void launch_tiles(const OpCall& op, const std::string& name, const Args& args, int parts, const std::string& suffix = "") {
  constexpr int query_rows = 64, threads = 128;
  const char* const elements = args.d <= 64 ? "_64" : "_128";
  // Each sequence may end with a part of a tile. At least one block: it finds a wrong batch, one without sequences too.
  const int64_t tiles = (args.rows + query_rows - 1) / query_rows + args.sequences;
  op.launch(name + std::to_string(parts) + elements + suffix, tiles * args.heads, threads, args);
}

bool launch_matrix_attention(const OpCall& op, const Attention& args, const std::string& suffix, bool bf16) {
  const int parts = parts_of_q(op, args.d, bf16);
  const bool sinks = op.present(AttentionOp::SINKS); // attention_merge adds them, and tiles are not merged
  if (suffix != "_f32" && !sinks && takes_tiles(args, parts)) launch_tiles(op, "attention_tile_", args, parts, suffix);
  else if (takes_group(op, args, suffix)) launch_group(op, args, suffix);
  else return false;
  return true;
}

bool launch_matrix_attention(const OpCall& op, const UncachedAttention& args, bool bf16) {
  const int parts = parts_of_q(op, args.d, bf16);
  if (!takes_tiles(args, parts)) return false;
  launch_tiles(op, "uncached_attention_tile_", args, parts);
  return true;
}

}  // namespace quern::gpu
