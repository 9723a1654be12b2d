// Which ops of a plan are launched together: a linear, the addRmsNorm that adds its result, and the product of the normed rows.
#pragma once
#include <span>
#include <vector>

#include "quern/plan.h"

namespace quern::gpu {

inline constexpr size_t folded_ops = 3;

enum class Folding : uint8_t {
  none,
  in_order, // the linear has read its x when the sum is written
  at_once,  // the sum may also be written while x is read: they share no bytes
};

// By op: at a linear, what it allows with the two ops behind it. No other op reads the linear's result or the normed rows.
std::vector<Folding> folded_norms(std::span<const PlanOp> ops);

// x and the weights of the third op.
struct NormedProducts {
  const Operand& x;
  std::span<const Operand> weights;
};
NormedProducts normed_products(const PlanOp& op);

}  // namespace quern::gpu
