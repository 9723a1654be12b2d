#include "runtime/executor.h"

#include <chrono>

#include "quern/failure.h"

namespace quern {

static double milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

void Executor::run(Plan& plan, const int32_t* control, double* times) {
  try {
    run_ops(plan, control, times);
  } catch (const Failure& failure) {
    if (failure.code == Code::aborted) throw;
    plan.need_whole_files();
    throw Failure(failure.code, failure.what() + plan.changed_files());
  }
  if (FaultGuard::any_lost()) plan.need_whole_files();
}

void Executor::run_ops(Plan& plan, const int32_t* control, double* times) {
  plan.bind(arena(plan.arena_bytes()));
  const auto& ops = plan.ops();
  for (size_t i = 0; i < ops.size(); i++) {
    if (__atomic_load_n(control, __ATOMIC_RELAXED) != 0)
      fail(Code::aborted, "the step was aborted before op %zu of %zu, %s", i + 1, ops.size(), ops[i].spec->name);
    const double start = times ? milliseconds() : 0;
    run_op(ops[i]);
    if (times) times[i] = milliseconds() - start;
  }
}

void Executor::run_op(const PlanOp& op) {
  Call call(op, kernels_, pool_, scratch_);
  op.spec->run(call);
  runs_[op.spec - op_table].fetch_add(1, std::memory_order_relaxed);
}

// The arena grows to the largest plan seen; contents do not outlive a plan.
uint8_t* Executor::arena(uint64_t bytes) {
  if (bytes > arena_.bytes()) {
    arena_ = Pages();
    arena_ = Pages(bytes);
  }
  return arena_.data();
}

} // namespace quern
