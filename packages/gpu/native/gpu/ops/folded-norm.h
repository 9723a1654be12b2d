// A linear, the addRmsNorm that adds its result, and the product of the normed rows (folded-norms.h), without launches for the norm:
// few rows by kernels/folded-norm.h, others as the platform does.
#pragma once
#include <optional>

#include "gpu/folded-norms.h"
#include "gpu/ops/products.h"

namespace quern::gpu {

// The normed rows, as the products of the next op take them.
struct FoldedX {
  const float* x; // null: the op's own
  NormOfX norm;
  SharedRows rows;
};

// The operands of an addRmsNorm of a linear's result [rows, width].
struct SummedNorm {
  const float *residual, *w;
  float *sum, *y;
  int64_t rows, width;
  float eps;
};

// Launches the linear and the norm for the op behind them. Nothing: nothing is launched.
std::optional<FoldedX> launch_folded_norm(const OpCall& linear, const OpCall& norm, const PlanOp& next, Folding folding);

}  // namespace quern::gpu
