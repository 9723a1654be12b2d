#include "quern/plain/ops.h"

#include <array>

#include "quern/failure.h"

namespace quern::plain {

static constexpr auto table = [] {
  std::array<PlainOp, std::size(op_table)> ops = {};
  ops[EmbedOp::index] = embed;
  ops[LinearOp::index] = linear;
  ops[AddOp::index] = add;
  ops[MulOp::index] = mul;
  ops[ScaleOp::index] = scale;
  ops[RmsNormOp::index] = rms_norm;
  ops[SiluOp::index] = silu;
  ops[GeluOp::index] = gelu;
  ops[SwigluOp::index] = swiglu;
  ops[GegluOp::index] = geglu;
  ops[RopeTableOp::index] = rope_table;
  ops[RopeOp::index] = rope;
  ops[AttentionOp::index] = attention;
  ops[KvAppendOp::index] = kv_append;
  ops[SoftmaxOp::index] = softmax;
  ops[ArgmaxOp::index] = argmax;
  ops[TopKOp::index] = top_k;
  ops[MaskLogitsOp::index] = mask_logits;
  ops[PenaliseOp::index] = penalise;
  ops[GatherRowsOp::index] = gather_rows;
  ops[CastOp::index] = cast;
  ops[ExpertLinearOp::index] = expert_linear;
  ops[WeightedSumOp::index] = weighted_sum;
  ops[LayerNormOp::index] = layer_norm;
  ops[UncachedAttentionOp::index] = uncached_attention;
  ops[PoolOp::index] = pool;
  ops[L2NormaliseOp::index] = l2_normalise;
  ops[Conv1dOp::index] = conv1d;
  ops[Log10Op::index] = log10;
  ops[TanhOp::index] = tanh;
  ops[SampleOp::index] = sample;
  ops[LogProbsOp::index] = log_probs;
  return ops;
}();

PlainOp find_op(const OpSpec& spec) {
  const PlainOp op = table[&spec - op_table];
  if (!op) fail(Code::unsupported, "there is no plain form of %s", spec.name);
  return op;
}

} // namespace quern::plain
