// Runs plans, one at a time.
#pragma once
#include <atomic>
#include <iterator>

#include "runtime/call.h"
#include "quern/plan.h"

namespace quern {

class Executor {
 public:
  Executor(const Kernels& kernels, ThreadPool& pool) : kernels_(kernels), pool_(pool), scratch_(pool.threads()) {}

  // Computes every op in order. Looks at *control between ops and throws ABORTED once it is not 0, or the pool is cancelled.
  // Throws DEVICE_FAILED where a file of the plan's weights has lost bytes. Writes milliseconds per op where `times` is not
  // null. One caller at a time.
  void run(Plan& plan, const int32_t* control, double* times);

  // How often the op at `index` of op_table has been computed. From any thread.
  uint64_t runs(size_t index) const { return runs_[index].load(std::memory_order_relaxed); }

 private:
  void run_ops(Plan& plan, const int32_t* control, double* times);
  void run_op(const PlanOp& op);
  uint8_t* arena(uint64_t bytes);

  const Kernels& kernels_;
  ThreadPool& pool_;
  Scratch scratch_;
  Pages arena_;
  std::atomic<uint64_t> runs_[std::size(op_table)] = {};
};

} // namespace quern
