// The interface of a native driver: memory, weights, plans that run. A driver derives from Device, or from HostDevice
// (memory and the loop over ops are there), and defines make_device. The rest of this package connects the device to
// JavaScript.
#pragma once
#include <stdint.h>

#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "quern/buffer.h"
#include "quern/failure.h"
#include "quern/plan.h"
#include "quern/properties.h"
#include "quern/weight-source.h"

namespace quern {

// One run of a plan.
struct Run {
  const int32_t* control;                // nonzero: the caller has aborted; other threads write it
  int32_t* fault = nullptr;              // PlanIo.fault, or null: [index of the failed op + 1, a FaultCode]
  double* times = nullptr;               // milliseconds of each op, or null
  std::span<const ByteRange> dirty = {}; // bytes of the inputs written since the plan's last run
};

struct LoadedGptq {
  std::shared_ptr<const LoadedWeight> weight;
  std::string format; // one that the manifest lists
};

class Chain;

// One run of a chain: `run.dirty` before its first replay.
struct ChainRun {
  Run run;
  const int32_t* limits; // [S]: JavaScript may write it during the run
  std::span<const int32_t> stops;
};

class Device {
 public:
  virtual ~Device() = default;

  // Name of the driver's thread in debuggers.
  virtual std::string name() const { return "quern"; }
  // Whether host code may use addresses of buffers. If not, `write` and `read` copy buffers between plans.
  virtual bool has_unified_memory() const { return true; }

  // ---- on the JavaScript thread, at any time: must be short

  // Zeroed. Throws OUT_OF_MEMORY; the message has the bytes asked for and the bytes free.
  virtual std::shared_ptr<const Buffer> allocate(uint64_t bytes) = 0;
  // Zeroed host memory for inputs or outputs of plans; pinned if the device reads pinned memory faster. May outlive the
  // device.
  virtual std::shared_ptr<const Buffer> allocate_host(uint64_t bytes) { return std::make_shared<PagesBuffer>(bytes); }
  virtual uint64_t free_memory() const = 0;
  // Called before the device is destroyed: work in progress should end soon, with ABORTED.
  virtual void cancel() {}
  // The file in which another process may keep measured rates now, if those of `profile` are estimates; else empty.
  virtual std::string unmeasured_rates() { return ""; }

  // ---- on the driver's thread, one call at a time. Exceptions reject the promise.

  // DeviceProfile of core without `kind`; `ceilings`: DeviceCeilings.
  virtual Properties profile() = 0;
  virtual Properties ceilings() { fail(Code::unsupported, "this device does not measure its ceilings"); }
  virtual void write(const Buffer& to, uint64_t offset, std::span<const uint8_t> bytes);
  virtual void read(const Buffer& from, uint64_t offset, std::span<uint8_t> bytes);
  // Throws BAD_WEIGHT, UNSUPPORTED or OUT_OF_MEMORY, naming the weight.
  virtual std::shared_ptr<const LoadedWeight> load_weight(const WeightSource& source) = 0;
  virtual LoadedGptq load_gptq(const GptqSource&) { fail(Code::unsupported, "this device takes no GPTQ weights"); }
  // Called once for a plan that will run again. Bindings or a graph go into plan.prepared.
  virtual void prepare(Plan&) {}
  // Computes the ops; results as if computed in order. Inputs and outputs: plan.host(). Throws OUT_OF_RANGE, ABORTED,
  // OUT_OF_MEMORY or DEVICE_FAILED; a device whose kernels can only set a flag writes run.fault instead.
  virtual void run(Plan& plan, const Run& run) = 0;
  // Replays until every row has ended, or a replay sets a flag (chain.h). Returns the number of replays. Here: a run per
  // replay, and the update between them on the host.
  virtual int64_t run_chain(Plan& plan, Chain& chain, const ChainRun& run);

  // Whether any op has been computed. Any thread.
  bool has_run() const;
  // Number of times the op at `index` of op_table has been computed. Any thread.
  uint64_t runs(size_t index) const { return runs_[index].load(std::memory_order_relaxed); }

 protected:
  void count(const PlanOp& op) { runs_[op.spec - op_table].fetch_add(1, std::memory_order_relaxed); }

  // Calls compute(op) for each op in order; counts and times each op. Throws ABORTED after the caller aborts.
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
  // For kernels that cannot throw: writes the op's index + 1 and the code to run.fault, unless an earlier op has. The run goes on.
  static void flag(const Plan& plan, const Run& run, const PlanOp& op, FaultCode code);
  // Throws ABORTED after the caller aborts; the message names op `next`.
  static void need_wanted(const Plan& plan, const Run& run, size_t next);
  static double milliseconds();

 private:
  std::atomic<uint64_t> runs_[std::size(op_table)] = {};
};

// A device in host memory; plans run op by op.
class HostDevice : public Device {
 public:
  // Buffers are caches: a short text uses little of each.
  std::shared_ptr<const Buffer> allocate(uint64_t bytes) override {
    return std::make_shared<PagesBuffer>(bytes, Filled::from_the_start);
  }
  uint64_t free_memory() const override;
  void run(Plan& plan, const Run& run) override;

 protected:
  virtual void run_op(const PlanOp& op) = 0;

 private:
  uint8_t* arena(uint64_t bytes);
  Pages arena_;
};

// Defined by the driver: the device for `options`. Throws BAD_ARGUMENT or UNSUPPORTED.
std::unique_ptr<Device> make_device(const Options& options);

// Defined by a driver of several devices, which is compiled with QUERN_LISTS_DEVICES: a DeviceDescription of core for each,
// without opening one. Empty: there is no device; make_device then says why. Throws UNSUPPORTED if the driver does not work.
std::vector<Properties> list_devices(const Options& options);

// device.run, and DEVICE_FAILED if a mapped file of the plan's weights has lost bytes. Other errors of the run name those
// files of weights that have changed.
void run_plan(Device& device, Plan& plan, const Run& run);

} // namespace quern
