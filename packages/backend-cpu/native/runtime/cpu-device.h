// The processors of this machine as a Device.
#pragma once
#include <string>

#include "quern/device.h"
#include "quern/page-pool.h"
#include "runtime/call.h"
#include "runtime/precision.h"

namespace quern {

class CpuDevice : public HostDevice {
 public:
  // threads 0: default_threads(). isa empty: the best on this machine. Throws BAD_ARGUMENT or UNSUPPORTED.
  explicit CpuDevice(int64_t threads, const std::string& isa = "", Precision precision = Precision::standard);

  std::string name() const override { return "quern-cpu-0"; }
  void cancel() override { pool.cancel(); }
  Properties profile() override;
  Properties ceilings() override;
  std::shared_ptr<const LoadedWeight> load_weight(const WeightSource& source) override;
  LoadedGptq load_gptq(const GptqSource& source) override;

  const Precision precision;
  const Kernels kernels;
  ThreadPool pool;
  FileMap files;
  PagePool pages; // of copied weights

 protected:
  void run_op(const PlanOp& op) override;

 private:
  Scratch scratch_;
};

} // namespace quern
