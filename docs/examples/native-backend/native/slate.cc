// Slate: a device with its own memory. Inputs are copied to the board before a run, outputs to the host after the run.
#include <string.h>

#include "linear.h"
#include "memory.h"
#include "quern/device.h"
#include "quern/plain/ops.h"
#include "quern/plain/weight.h"

namespace slate {

using namespace quern;

// A plan's memory on the board. A captured plan keeps this memory, and so the inputs of its last run.
struct Placed : Prepared {
  Placed(const std::shared_ptr<Board>& board, const Plan& plan)
      : arena(board, plan.arena_bytes()), inputs(board, plan.host().inputs_bytes), outputs(board, plan.host().outputs_bytes),
        written(plan.written_outputs()) {}
  BoardBuffer arena, inputs, outputs;
  std::vector<ByteRange> written;
};

class Slate : public Device {
 public:
  explicit Slate(uint64_t bytes) : bytes_(bytes), board_(std::make_shared<Board>(bytes)) {}

  bool has_unified_memory() const override { return false; }
  std::shared_ptr<const Buffer> allocate(uint64_t bytes) override { return std::make_shared<BoardBuffer>(board_, bytes); }
  uint64_t free_memory() const override { return board_->free_bytes(); }
  void cancel() override { cancelled_ = true; }

  Properties profile() override {
    const double rate = measure();
    return {{"name", std::string("Slate")}, {"isa", std::string("plain")}, {"threads", 1.0},
            {"totalMemory", double(bytes_)}, {"readBandwidth", 4 * rate}, {"flops", 2 * rate}};
  }

  std::shared_ptr<const LoadedWeight> load_weight(const WeightSource& source) override {
    return std::make_shared<plain::PlainWeight>(source, files_);
  }

  void prepare(Plan& plan) override { plan.prepared = std::make_unique<Placed>(board_, plan); }

  void run(Plan& plan, const Run& run) override {
    if (!plan.prepared) prepare(plan);
    const auto& placed = static_cast<const Placed&>(*plan.prepared);
    const HostMemory& host = plan.host();
    plan.bind({placed.arena.data(), placed.inputs.data(), placed.outputs.data()});
    for (const auto& [from, to] : run.dirty)
      if (from < to) memcpy(placed.inputs.data() + from, host.inputs + from, to - from);
    each_op(plan, run, [&](const PlanOp& op) {
      try {
        compute(op);
      } catch (const Failure& failure) {
        if (failure.code != Code::out_of_range) throw;
        flag(plan, run, op, FaultCode::out_of_range); // kernels of a GPU cannot throw
      }
    });
    for (const auto& [from, to] : placed.written) memcpy(host.outputs + from, placed.outputs.data() + from, to - from);
  }

 private:
  void compute(const PlanOp& op) {
    if (cancelled_) fail(Code::aborted, "the backend was disposed before its work was done");
    const OpView view(op, copies_);
    if (op.spec->opcode == op_table[LinearOp::index].opcode) linear(view);
    else plain::find_op(*op.spec)(view);
  }

  // Multiply-adds per second.
  double measure() {
    constexpr int64_t N = 256, K = 1024;
    const std::vector<float> w(N * K, 1), x(K, 1);
    std::vector<float> y(N);
    const double start = milliseconds();
    for (int round = 0; round < 8; round++) product(x.data(), w.data(), N, K, y.data());
    return 8 * N * K / (milliseconds() - start) * 1000;
  }

  const uint64_t bytes_;
  const std::shared_ptr<Board> board_;
  std::atomic<bool> cancelled_{false};
  FileMap files_;
  IntCopies copies_;
};

} // namespace slate

std::unique_ptr<quern::Device> quern::make_device(const Options& options) {
  return std::make_unique<slate::Slate>(options.integer("megabytes", 1, 1 << 20, 256) << 20);
}
