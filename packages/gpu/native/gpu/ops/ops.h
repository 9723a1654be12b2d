// Each op as a function: checks the op's shape rule, launches its kernels.
#pragma once
#include "gpu/op-call.h"

namespace quern::gpu {

void embed(const OpCall& op);
void linear(const OpCall& op);
void add(const OpCall& op);
void mul(const OpCall& op);
void scale(const OpCall& op);
void rms_norm(const OpCall& op);
void silu(const OpCall& op);
void gelu(const OpCall& op);
void swiglu(const OpCall& op);
void geglu(const OpCall& op);
void rope_table(const OpCall& op);
void rope(const OpCall& op);
void attention(const OpCall& op);
void kv_append(const OpCall& op);
void softmax(const OpCall& op);
void argmax(const OpCall& op);
void top_k(const OpCall& op);
void mask_logits(const OpCall& op);
void penalise(const OpCall& op);
void log_probs(const OpCall& op);
void gather_rows(const OpCall& op);
void cast(const OpCall& op);
void expert_linear(const OpCall& op);
void weighted_sum(const OpCall& op);
void layer_norm(const OpCall& op);
void uncached_attention(const OpCall& op);
void pool(const OpCall& op);
void l2_normalise(const OpCall& op);
void conv1d(const OpCall& op);
void log10(const OpCall& op);
void tanh(const OpCall& op);
void sample(const OpCall& op);
void add_rms_norm(const OpCall& op);
void gate_up_swiglu(const OpCall& op);
void qkv_linear(const OpCall& op);
void qk_norm_rope_append(const OpCall& op);
void linear_argmax(const OpCall& op);
void moe(const OpCall& op);
void add_layer_norm(const OpCall& op);
void bias_gelu(const OpCall& op);

} // namespace quern::gpu
