// A Device (quern/device.h) on a GPU: plans become launches.
#pragma once
#include <atomic>
#include <memory>
#include <optional>

#include "gpu/chain-ahead.h"
#include "gpu/gpu-weight.h"
#include "gpu/kept-rates.h"
#include "gpu/read-back.h"
#include "gpu/scratch.h"
#include "quern/device.h"
#include "quern/precision.h"

namespace quern::gpu {

struct Placed;

class GpuDevice : public Device {
 public:
  GpuDevice(std::shared_ptr<Gpu> gpu, Precision precision, RatesFrom rates_from);

  std::string name() const override { return "quern-gpu"; }
  bool has_unified_memory() const override { return false; }
  std::shared_ptr<const Buffer> allocate(uint64_t bytes) override;
  // What loading takes on the way is not free.
  uint64_t free_memory() const override { return gpu_->free_memory() - std::min(gpu_->free_memory(), Staging::device_bytes); }
  void cancel() override { cancelled_ = true; }
  Properties profile() override;
  Properties ceilings() override;
  std::string unmeasured_rates() override;
  void write(const Buffer& to, uint64_t offset, std::span<const uint8_t> bytes) override;
  void read(const Buffer& from, uint64_t offset, std::span<uint8_t> bytes) override;
  std::shared_ptr<const LoadedWeight> load_weight(const WeightSource& source) override;
  LoadedGptq load_gptq(const GptqSource& source) override;
  void prepare(Plan& plan) override;
  void run(Plan& plan, const Run& run) override;
  int64_t run_chain(Plan& plan, Chain& chain, const ChainRun& run) override;

 private:
  RatesKey rates_key() const;
  Rates measure();
  FoundRates rates();
  void need_running(const Plan& plan, const Run& run, size_t next);
  void launch(const Plan& plan, size_t op);
  size_t launch_next(const Plan& plan, const Placed& placed, size_t op);
  Placed& begin(Plan& plan, const Run& run);
  template <class Between>
  void launch_all(Plan& plan, Placed& placed, const Run& run, Between& between);
  template <class Between>
  void record(const Plan& plan, const Placed& placed, const Run& run, Between& between);
  template <class Between>
  void replay(const Plan& plan, Placed& placed, const Run& run, Between& between);
  void read_outputs(const Plan& plan, const Placed& placed);
  void tell_fault(const Plan& plan, const Run& run, const int32_t* fault);
  void settle() noexcept;
  template <class F>
  auto loading(const std::string& name, const F& load) -> decltype(load(std::declval<Staging&>()));
  void end_loading() noexcept;

  const std::shared_ptr<Gpu> gpu_;
  const Precision precision_;
  const RatesFrom rates_from_;
  const GpuBuffer fault_;  // int [2]: index of the failed op + 1, FaultCode
  bool fault_unread_ = true;  // it may hold something else than 0
  Scratch scratch_;
  std::optional<Staging> staging_;  // while weights are loaded
  ReadBack back_;
  ChainMemory chain_memory_;
  FileMap files_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace quern::gpu
