// What a native driver is made of: memory, weights, and plans that run. A driver derives from Device (or from HostDevice, which has
// memory and the loop over ops already) and defines make_device; the rest of this package is between the two and JavaScript.
#pragma once
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <span>

#include "quern/buffer.h"
#include "quern/failure.h"
#include "quern/plan.h"
#include "quern/properties.h"
#include "quern/weight-source.h"

namespace quern {

// One run of a plan.
struct Run {
  const int32_t* control;                // in memory that others write: not 0 once the caller has aborted
  int32_t* fault = nullptr;              // PlanIo.fault, where it is not null: [index of the op that went wrong + 1, a FaultCode]
  double* times = nullptr;               // milliseconds of each op go here, where it is not null
  std::span<const ByteRange> dirty = {}; // bytes of the inputs written since the plan's last run
};

struct LoadedGptq {
  std::shared_ptr<const LoadedWeight> weight;
  std::string format; // one that the manifest lists
};

class Device {
 public:
  virtual ~Device() = default;

  // Of the driver's thread, as debuggers show it.
  virtual std::string name() const { return "quern"; }
  // Whether the host's code may use the addresses of buffers. Where it may not, buffers are written and read between plans.
  virtual bool has_unified_memory() const { return true; }

  // ---- on the JavaScript thread, at any time: as short as they can be

  // Zeroed. Throws OUT_OF_MEMORY with the bytes asked for and free.
  virtual std::shared_ptr<const Buffer> allocate(uint64_t bytes) = 0;
  // Host memory for the inputs or outputs of plans, zeroed: pinned where the device reads that faster. It may outlive the device.
  virtual std::shared_ptr<const Buffer> allocate_host(uint64_t bytes) { return std::make_shared<PagesBuffer>(bytes); }
  virtual uint64_t free_memory() const = 0;
  // The device is about to be destroyed: what runs should end soon, with ABORTED.
  virtual void cancel() {}

  // ---- on the driver's thread, one at a time. What they throw, the promise rejects with.

  // DeviceProfile of core, but for its kind; `ceilings`: DeviceCeilings.
  virtual Properties profile() = 0;
  virtual Properties ceilings() { fail(Code::unsupported, "this device does not measure its ceilings"); }
  virtual void write(const Buffer& to, uint64_t offset, std::span<const uint8_t> bytes);
  virtual void read(const Buffer& from, uint64_t offset, std::span<uint8_t> bytes);
  // Throws BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY, naming the weight.
  virtual std::shared_ptr<const LoadedWeight> load_weight(const WeightSource& source) = 0;
  virtual LoadedGptq load_gptq(const GptqSource&) { fail(Code::unsupported, "this device takes no GPTQ weights"); }
  // A plan that will be run again: what is made of it here (bindings, a graph) is kept in plan.prepared.
  virtual void prepare(Plan&) {}
  // Computes the ops in their order, or as if. Inputs and outputs are plan.host(). Throws OUT_OF_RANGE, ABORTED, OUT_OF_MEMORY
  // or DEVICE_FAILED; a device whose kernels can only set a flag writes run.fault in place of throwing.
  virtual void run(Plan& plan, const Run& run) = 0;

  // How often the op at `index` of op_table has been computed. From any thread.
  uint64_t runs(size_t index) const { return runs_[index].load(std::memory_order_relaxed); }

 protected:
  void count(const PlanOp& op) { runs_[op.spec - op_table].fetch_add(1, std::memory_order_relaxed); }

  // compute(op) for each op in order, counted and timed. Throws ABORTED once the caller has aborted.
  template <class Compute>
  void each_op(const Plan& plan, const Run& run, const Compute& compute) {
    const auto& ops = plan.ops();
    size_t i = 0;
    try {
      for (; i < ops.size(); i++) {
        need_wanted(plan, run, i);
        const double start = run.times ? milliseconds() : 0;
        compute(ops[i]);
        count(ops[i]);
        if (run.times) run.times[i] = milliseconds() - start;
      }
    } catch (const Failure& failure) {
      if (run.fault && failure.code != Code::aborted) run.fault[0] = static_cast<int32_t>(i + 1); // core adds the op's name
      throw;
    }
  }
  // For kernels that cannot throw: writes down which op of the plan went wrong, unless an earlier one has. The run goes on.
  static void flag(const Plan& plan, const Run& run, const PlanOp& op, FaultCode code);
  // Throws ABORTED once the caller has aborted, naming the op that would have been next.
  static void need_wanted(const Plan& plan, const Run& run, size_t next);
  static double milliseconds();

 private:
  std::atomic<uint64_t> runs_[std::size(op_table)] = {};
};

// Memory of the host, and plans op by op.
class HostDevice : public Device {
 public:
  std::shared_ptr<const Buffer> allocate(uint64_t bytes) override { return std::make_shared<PagesBuffer>(bytes); }
  uint64_t free_memory() const override;
  void run(Plan& plan, const Run& run) override;

 protected:
  virtual void run_op(const PlanOp& op) = 0;

 private:
  uint8_t* arena(uint64_t bytes);
  Pages arena_;
};

// The driver's part: the device that `options` ask for. Throws BAD_ARGUMENT or UNSUPPORTED.
std::unique_ptr<Device> make_device(const Options& options);

// device.run, with DEVICE_FAILED where a mapped file of the plan's weights has lost bytes. What else the run throws says which of
// these files have been written to.
void run_plan(Device& device, Plan& plan, const Run& run);

} // namespace quern
