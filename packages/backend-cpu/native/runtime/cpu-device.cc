#include "runtime/cpu-device.h"

#include "quern/failure.h"
#include "quern/machine.h"
#include "runtime/ceilings.h"
#include "runtime/cpu-features.h"
#include "runtime/dispatch.h"
#include "runtime/profile.h"
#include "weights/load-weight.h"

namespace quern {

static int choose_threads(int64_t threads) {
  constexpr int most = 1024; // also the bound of the option `threads`, packages/runtime/src/discovery/find-backends.ts
  if (threads < 0 || threads > most)
    fail(Code::bad_argument, "threads must be from 1 to %d; got %lld", most, static_cast<long long>(threads));
  return threads ? static_cast<int>(threads) : std::min(most, default_threads());
}

CpuDevice::CpuDevice(int64_t threads, const std::string& isa, Precision precision)
    : precision(precision), kernels(at_precision(choose_kernels(isa), precision)), pool(choose_threads(threads)),
      scratch_(pool.threads()) {}

Properties CpuDevice::profile() {
  const Profile measured = measure_profile(kernels, pool);
  return {{"name", cpu_name()},
          {"isa", std::string(kernels.name)},
          {"threads", static_cast<double>(pool.threads())},
          {"totalMemory", static_cast<double>(memory_state().total)},
          {"readBandwidth", measured.read_bandwidth},
          {"flops", measured.flops},
          {"rowFlops", measured.row_flops},
          {"promptFlops", measured.prompt_flops},
          {"precision", std::string(name_of(precision))},
          {"exactRows", static_cast<double>(exact_rows)}};
}

Properties CpuDevice::ceilings() {
  const Ceilings measured = measure_ceilings(kernels, pool);
  Properties rates;
  for (const auto& [name, rate] : measured.rates) rates.push_back({name, rate});
  return {{"readBandwidth", measured.read_bandwidth},
          {"readBandwidthOneThread", measured.read_bandwidth_one_thread},
          {"rates", rates}};
}

std::shared_ptr<const LoadedWeight> CpuDevice::load_weight(const WeightSource& source) {
  return quern::load_weight(source, files, kernels, pool, pages);
}

// Columns out of order (act-order) make a format of its own; only `linear` takes it (src/manifest.ts).
LoadedGptq CpuDevice::load_gptq(const GptqSource& source) {
  const auto weight = quern::load_gptq(source, files, kernels, pool, pages);
  return {weight, weight->matrix().order().empty() ? layout_of(weight->format()).name : "gptq"};
}

using RunOp = void (*)(Call&);
static constexpr RunOp run_table[] = {
#define RUN(Op, name) Op::run,
    QUERN_OPS(RUN)
#undef RUN
};

void CpuDevice::run_op(const PlanOp& op) {
  Call call(op, kernels, pool, scratch_);
  run_table[op.spec - op_table](call);
}

std::unique_ptr<Device> make_device(const Options& options) {
  return std::make_unique<CpuDevice>(options.integer("threads", 0, INT32_MAX, 0), options.text("isa", ""),
                                     precision_named(options.text("precision", "standard")));
}

} // namespace quern
