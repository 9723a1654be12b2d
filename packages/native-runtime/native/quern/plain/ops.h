// The core ops in plain C++, on the host, sums in double precision: for ops that a driver does not implement. Weights are
// PlainWeight; all addresses are host addresses. Each op throws BAD_ARGUMENT if a plan breaks its shape rule, and
// OUT_OF_RANGE as core's definition of the op.
#pragma once
#include "quern/op-view.h"

namespace quern::plain {

void embed(const OpView& op);
void linear(const OpView& op);
void add(const OpView& op);
void mul(const OpView& op);
void scale(const OpView& op);
void rms_norm(const OpView& op);
void silu(const OpView& op);
void gelu(const OpView& op);
void swiglu(const OpView& op);
void geglu(const OpView& op);
void rope_table(const OpView& op);
void rope(const OpView& op);
void attention(const OpView& op);
void kv_append(const OpView& op);
void softmax(const OpView& op);
void argmax(const OpView& op);
void top_k(const OpView& op);
void mask_logits(const OpView& op);
void penalise(const OpView& op);
void gather_rows(const OpView& op);
void cast(const OpView& op);
void expert_linear(const OpView& op);
void weighted_sum(const OpView& op);
void layer_norm(const OpView& op);
void uncached_attention(const OpView& op);
void pool(const OpView& op);
void l2_normalise(const OpView& op);
void conv1d(const OpView& op);
void log10(const OpView& op);
void tanh(const OpView& op);
void sample(const OpView& op);
void log_probs(const OpView& op);

using PlainOp = void (*)(const OpView& op);
// The op of a row of op_table. Throws UNSUPPORTED for fused ops: they have no plain form.
PlainOp find_op(const OpSpec& spec);

} // namespace quern::plain
