#include "gpu/ops.h"

#include "gpu/ops/folded-norm.h"
#include "gpu/ops/ops.h"
#include "quern/failure.h"

namespace quern::gpu {

namespace {

struct Entry {
  int32_t index;  // in op_table
  void (*launch)(const OpCall& op);
};

constexpr Entry entries[] = {
    {EmbedOp::index, gpu::embed},
    {LinearOp::index, gpu::linear},
    {AddOp::index, gpu::add},
    {MulOp::index, gpu::mul},
    {ScaleOp::index, gpu::scale},
    {RmsNormOp::index, gpu::rms_norm},
    {SiluOp::index, gpu::silu},
    {GeluOp::index, gpu::gelu},
    {SwigluOp::index, gpu::swiglu},
    {GegluOp::index, gpu::geglu},
    {RopeTableOp::index, gpu::rope_table},
    {RopeOp::index, gpu::rope},
    {AttentionOp::index, gpu::attention},
    {KvAppendOp::index, gpu::kv_append},
    {SoftmaxOp::index, gpu::softmax},
    {ArgmaxOp::index, gpu::argmax},
    {TopKOp::index, gpu::top_k},
    {MaskLogitsOp::index, gpu::mask_logits},
    {PenaliseOp::index, gpu::penalise},
    {GatherRowsOp::index, gpu::gather_rows},
    {CastOp::index, gpu::cast},
    {ExpertLinearOp::index, gpu::expert_linear},
    {WeightedSumOp::index, gpu::weighted_sum},
    {LayerNormOp::index, gpu::layer_norm},
    {UncachedAttentionOp::index, gpu::uncached_attention},
    {PoolOp::index, gpu::pool},
    {L2NormaliseOp::index, gpu::l2_normalise},
    {Conv1dOp::index, gpu::conv1d},
    {Log10Op::index, gpu::log10},
    {TanhOp::index, gpu::tanh},
    {SampleOp::index, gpu::sample},
    {LogProbsOp::index, gpu::log_probs},
    {AddRmsNormOp::index, gpu::add_rms_norm},
    {GateUpSwigluOp::index, gpu::gate_up_swiglu},
    {QkvLinearOp::index, gpu::qkv_linear},
    {QkNormRopeAppendOp::index, gpu::qk_norm_rope_append},
    {LinearArgmaxOp::index, gpu::linear_argmax},
    {MoeOp::index, gpu::moe},
    {AddLayerNormOp::index, gpu::add_layer_norm},
    {BiasGeluOp::index, gpu::bias_gelu},
};

const Entry& entry_of(const PlanOp& op) {
  for (const Entry& entry : entries)
    if (&op_table[entry.index] == op.spec) return entry;
  fail(Code::unsupported, "[%s] this device has no kernel for it", op.spec->name);
}

}  // namespace

void launch_op(Gpu& gpu, Scratch& scratch, const PlanOp& op, int index, int* fault, Precision precision) {
  scratch.begin_op();
  entry_of(op).launch(OpCall(gpu, scratch, op, index, fault, precision));
}

bool launch_folded(Gpu& gpu, Scratch& scratch, std::span<const PlanOp> ops, Folding folding, int index, int* fault, Precision precision) {
  scratch.begin_op();
  const auto call = [&](int i, const FoldedX* x = nullptr) { return OpCall(gpu, scratch, ops[i], index + i, fault, precision, x); };
  const std::optional<FoldedX> x = launch_folded_norm(call(0), call(1), ops[2], folding);
  if (!x) return false;
  entry_of(ops[2]).launch(call(2, &*x));
  return true;
}

}  // namespace quern::gpu
