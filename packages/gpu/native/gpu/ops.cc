#include "gpu/ops.h"

#include <array>

#include "gpu/ops/folded-norm.h"
#include "gpu/ops/ops.h"
#include "quern/failure.h"

namespace quern::gpu {

namespace {

using LaunchOp = void (*)(const OpCall& op);

// By index in op_table; null: this device has no kernel.
constexpr auto table = [] {
  std::array<LaunchOp, std::size(op_table)> launches = {};
#define LAUNCH(Op, name) launches[Op::index] = gpu::name;
  QUERN_CORE_OPS(LAUNCH)
  QUERN_GPU_FUSED_OPS(LAUNCH)
#undef LAUNCH
  return launches;
}();

LaunchOp launch_of(const PlanOp& op) {
  const LaunchOp launch = table[op.spec - op_table];
  if (!launch) fail(Code::unsupported, "[%s] this device has no kernel for it", op.spec->name);
  return launch;
}

}  // namespace

void launch_op(Gpu& gpu, Scratch& scratch, const PlanOp& op, int index, int* fault, Precision precision) {
  scratch.begin_op();
  launch_of(op)(OpCall(gpu, scratch, op, index, fault, precision));
}

bool launch_folded(Gpu& gpu, Scratch& scratch, std::span<const PlanOp> ops, Folding folding, int index, int* fault, Precision precision) {
  scratch.begin_op();
  const auto call = [&](int i, const FoldedX* x = nullptr) { return OpCall(gpu, scratch, ops[i], index + i, fault, precision, x); };
  const std::optional<FoldedX> x = launch_folded_norm(call(0), call(1), ops[2], folding);
  if (!x) return false;
  launch_of(ops[2])(call(2, &*x));
  return true;
}

}  // namespace quern::gpu
