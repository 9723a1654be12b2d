// Each op as a function: checks the op's shape rule, launches its kernels.
#pragma once
#include "gpu/op-call.h"

namespace quern::gpu {

// The fused ops that have kernels: X(struct, name).
#define QUERN_GPU_FUSED_OPS(X) \
  X(AddRmsNormOp, add_rms_norm) \
  X(GateUpSwigluOp, gate_up_swiglu) \
  X(QkvLinearOp, qkv_linear) \
  X(QkNormRopeAppendOp, qk_norm_rope_append) \
  X(LinearArgmaxOp, linear_argmax) \
  X(MoeOp, moe) \
  X(AddLayerNormOp, add_layer_norm) \
  X(BiasGeluOp, bias_gelu)

#define DECLARE(Op, name) void name(const OpCall& op);
QUERN_CORE_OPS(DECLARE)
QUERN_GPU_FUSED_OPS(DECLARE)
#undef DECLARE

} // namespace quern::gpu
