// Attention on matrices of simdgroups (kernels/metal/attention-tiles.h): products of floats, at every precision.
#include "gpu/ops/matrices.h"

namespace quern::gpu {

static constexpr int query_rows = 32, tile_threads = 128; // of a block
static constexpr int least_rows = 16;                      // of a sequence, on average
static constexpr int most_elements = 128;                  // of a head

template <class Args>
static bool takes_tiles(const OpCall& op, const Args& args) {
  return op.gpu().has_matrices() && takes_heads(args, most_elements) && args.rows >= least_rows * args.sequences;
}

template <class Args>
static bool launch_tiles(const OpCall& op, const std::string& name, const Args& args, const std::string& suffix) {
  if (!takes_tiles(op, args)) return false;
  // Each sequence may end with a part of a tile. At least one block: it finds a wrong batch, one without sequences too.
  const int64_t tiles = (args.rows + query_rows - 1) / query_rows + args.sequences;
  op.launch(name + (args.d <= 64 ? "_64" : "_128") + suffix, tiles * args.heads, tile_threads, args);
  return true;
}

bool launch_matrix_attention(const OpCall& op, const Attention& args, const std::string& suffix, bool) {
  if (op.present(AttentionOp::SINKS)) return false; // attention_merge adds them, and tiles are not merged
  return launch_tiles(op, "attention_tile", args, suffix);
}

bool launch_matrix_attention(const OpCall& op, const UncachedAttention& args, bool) {
  return launch_tiles(op, "uncached_attention_tile", args, "");
}

}  // namespace quern::gpu
