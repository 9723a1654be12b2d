#include "gpu/gpu-device.h"

#include <algorithm>
#include <utility>

#include "gpu/ops.h"
#include "gpu/placed-plan.h"
#include "quern/failure.h"

namespace quern::gpu {

namespace {

constexpr size_t segment = 320;                  // ops of a graph, at most
constexpr uint64_t segment_bytes = 16ull << 30;  // of weights that it reads, at most: some milliseconds
constexpr int64_t segment_rows = 128;            // of a product: they take about as long as its weights
constexpr size_t first_segment = 32;             // ops that are launched one by one

// Bytes of weights that an op reads, as often as its rows take their time.
uint64_t bytes_of(const PlanOp& op) {
  const Operand& y = op.operands.back();
  const int64_t width = y.rank > 0 ? y.shape[y.rank - 1] : 1, rows = width > 0 ? y.count / width : 0;
  uint64_t bytes = 0;
  for (const Operand& operand : op.operands)
    if (operand.weight) bytes += operand.weight->byte_length();
  return bytes * uint64_t(std::max<int64_t>(1, rows / segment_rows));
}

// The end of the segment that begins at `from`: after one op at least, and not between ops that are launched together.
size_t end_of_segment(const std::vector<PlanOp>& ops, const std::vector<Folding>& foldings, size_t from) {
  size_t to = from;
  uint64_t bytes = 0;
  while (to < ops.size()) {
    const size_t end = foldings[to] == Folding::none ? to + 1 : to + folded_ops;
    uint64_t next = 0;
    for (size_t op = to; op < end; op++) next += bytes_of(ops[op]);
    if (to > from && (end > from + segment || bytes + next > segment_bytes)) break;
    bytes += next, to = end;
  }
  return to;
}

// At most two segments are in the queue, and the next one waits: an abort takes effect between them.
class InFlight {
 public:
  explicit InFlight(Gpu& gpu) : gpu_(gpu) { gpu.forget_marks(); }
  // A segment has been launched.
  void operator()() {
    const int last = std::exchange(last_, gpu_.mark());
    if (last >= 0) gpu_.wait(last);
  }

 private:
  Gpu& gpu_;
  int last_ = -1;
};

}  // namespace

GpuDevice::GpuDevice(std::shared_ptr<Gpu> gpu, Precision precision, RatesFrom rates_from)
    : gpu_(std::move(gpu)), precision_(precision), rates_from_(rates_from), fault_(gpu_, 2 * sizeof(int32_t)), scratch_(gpu_),
      back_(gpu_), chain_memory_(gpu_) {}

std::shared_ptr<const Buffer> GpuDevice::allocate(uint64_t bytes) {
  auto buffer = std::make_shared<const GpuBuffer>(gpu_, bytes);
  gpu_->clear(buffer->data(), bytes);
  return buffer;
}

void GpuDevice::write(const Buffer& to, uint64_t offset, std::span<const uint8_t> bytes) try {
  gpu_->copy_in(to.data() + offset, bytes.data(), bytes.size());
  gpu_->finish();
} catch (...) {
  settle();
  throw;
}

void GpuDevice::read(const Buffer& from, uint64_t offset, std::span<uint8_t> bytes) try {
  gpu_->copy_out(bytes.data(), from.data() + offset, bytes.size());
  gpu_->finish();
} catch (...) {
  settle();
  throw;
}

// load(staging) makes a weight. Errors name it, and leave nothing of it behind.
template <class F>
auto GpuDevice::loading(const std::string& name, const F& load) -> decltype(load(std::declval<Staging&>())) try {
  if (!staging_) staging_.emplace(gpu_);
  return load(*staging_);
} catch (const Failure& failure) {
  end_loading();
  const std::string prefix = "weight '" + name + "': ", told = failure.what();
  throw Failure(failure.code, told.starts_with(prefix) ? told : prefix + told);
}

// After an error, copies may be under way.
void GpuDevice::end_loading() noexcept {
  if (!staging_) return;
  settle();
  staging_.reset();
}

std::shared_ptr<const LoadedWeight> GpuDevice::load_weight(const WeightSource& source) {
  return loading(source.name, [&](Staging& staging) { return std::make_shared<const GpuWeight>(gpu_, staging, source, files_); });
}

// Columns out of order (act-order) make a format of its own; only `linear` takes it.
LoadedGptq GpuDevice::load_gptq(const GptqSource& source) {
  return loading(source.name, [&](Staging& staging) -> LoadedGptq {
    OneByOne one_by_one;
    const GptqBlocks blocks(source, files_, one_by_one);
    return {std::make_shared<const GpuWeight>(gpu_, staging, blocks), blocks.order().empty() ? blocks.format_name() : "gptq"};
  });
}

RatesKey GpuDevice::rates_key() const {
  const std::string precision = name_of(precision_);
  const bool on_disk = !gpu_->uuid().empty() && measures_well(*gpu_);
  return {on_disk ? gpu_->uuid() + "-" + precision : "",
          text("%s %s %s, %d processors, %llu bytes, %s, quern %s, %s", gpu_->name().c_str(), gpu_->uuid().c_str(), gpu_->isa().c_str(),
               gpu_->processors(), (unsigned long long)gpu_->total_memory(), gpu_->driver().c_str(), QUERN_VERSION, precision.c_str())};
}

Rates GpuDevice::measure() try {
  return measured_rates(rates_key(), [&] { return measure_rates(gpu_, precision_); });
} catch (...) {
  settle();
  throw;
}

// Estimates if there are any: then nothing runs on the device.
FoundRates GpuDevice::rates() {
  const std::optional<Rates> estimated = gpu_->estimated_rates(precision_);
  if (estimated && rates_from_ == RatesFrom::table) return {*estimated, false};
  if (rates_from_ == RatesFrom::measurement) return {measure(), true};
  if (const std::optional<Rates> kept = kept_rates(rates_key())) return {*kept, true};
  return estimated ? FoundRates{*estimated, false} : FoundRates{measure(), true};
}

std::string GpuDevice::unmeasured_rates() {
  if (rates_from_ != RatesFrom::kept || !gpu_->estimated_rates(precision_) || !measures_beside(*gpu_)) return "";
  const RatesKey key = rates_key();
  return kept_rates(key) ? "" : rates_file(key);
}

Properties GpuDevice::profile() {
  const auto [found, measured] = rates();
  return {{"name", gpu_->name()},
          {"isa", gpu_->isa()},
          {"driver", gpu_->driver()},
          {"threads", double(gpu_->processors())},
          {"totalMemory", double(gpu_->total_memory())},
          {"sharesHostMemory", gpu_->shares_host_memory()},
          {"readBandwidth", found.bandwidth},
          {"flops", found.flops},
          {"rowFlops", found.row_flops},
          {"promptFlops", found.prompt_flops},
          {"estimated", !measured},
          {"links", Properties{{"hostToDevice", found.to_device}, {"deviceToHost", found.from_device}}},
          {"precision", std::string(name_of(precision_))},
          {"abort", std::string("segment")}};
}

// Asked for: measures where rates are estimates.
Properties GpuDevice::ceilings() {
  auto [found, measured] = rates();
  if (!measured && rates_from_ != RatesFrom::table) found = measure(), measured = true;
  return {{"readBandwidth", found.bandwidth},
          {"rates", Properties{{"f32", found.flops}, {"bf16", found.bf16_flops}}},
          {"estimated", !measured}};
}

void GpuDevice::prepare(Plan& plan) { plan.prepared = std::make_unique<Placed>(gpu_, plan); }

void GpuDevice::run(Plan& plan, const Run& run) try {
  Placed& placed = begin(plan, run);
  InFlight in_flight(*gpu_);
  launch_all(plan, placed, run, in_flight);
  int32_t fault[2];
  back_.add(fault, fault_.data(), sizeof fault);
  read_outputs(plan, placed);
  if (run.times)
    for (size_t i = 0; i < plan.ops().size(); i++) run.times[i] = gpu_->milliseconds(int(i), int(i) + 1);
  fault_unread_ = fault[0] != 0;
  tell_fault(plan, run, fault);
} catch (...) {
  settle();
  throw;
}

// With times, replays are launched one by one.
int64_t GpuDevice::run_chain(Plan& plan, Chain& chain, const ChainRun& given) try {
  const Run& run = given.run;
  if (run.times) return Device::run_chain(plan, chain, given);
  Placed& placed = begin(plan, run);
  const auto nothing = [] {};
  const auto replay_once = [&] { launch_all(plan, placed, run, nothing); };
  ChainAhead ahead(*gpu_, chain_memory_, chain, given, {plan.host(), placed.inputs.data(), placed.outputs.data(), fault_.data()},
                   replay_once);
  placed.in_chain = true;
  bool failed = false;
  const int64_t done = chain.run(ahead.limits(), given.stops, [&] {
    const int32_t* const fault = ahead.next();
    tell_fault(plan, run, fault);
    failed = fault[0] != 0;
    return !failed;
  });
  ahead.read_counts(back_);
  read_outputs(plan, placed);
  if (failed) return done;
  if (ahead.went_too_far()) {
    gpu_->copy_in(placed.inputs.data(), plan.host().inputs, plan.host().inputs_bytes);
    replay_once();
    read_outputs(plan, placed);
  }
  placed.in_chain = false;
  return done;
} catch (...) {
  settle();
  throw;
}

// Clears the fault, and copies inputs that have changed.
Placed& GpuDevice::begin(Plan& plan, const Run& run) {
  end_loading();
  if (!plan.prepared) prepare(plan);
  auto& placed = static_cast<Placed&>(*plan.prepared);
  plan.bind({placed.arena.data(), placed.inputs.data(), placed.outputs.data()});
  if (std::exchange(fault_unread_, true)) gpu_->fill(fault_.data(), 0, fault_.bytes());
  const ByteRange all = {0, plan.host().inputs_bytes};
  for (const auto& [from, to] : placed.in_chain ? std::span(&all, 1) : run.dirty)
    if (from < to) gpu_->copy_in(placed.inputs.data() + from, plan.host().inputs + from, to - from);
  placed.in_chain = false;
  return placed;
}

void GpuDevice::read_outputs(const Plan& plan, const Placed& placed) {
  for (const auto& [from, to] : placed.written) back_.add(plan.host().outputs + from, placed.outputs.data() + from, to - from);
  back_.finish();
  scratch_.settle();
}

void GpuDevice::tell_fault(const Plan& plan, const Run& run, const int32_t* fault) {
  if (fault[0] == 0) return;
  const PlanOp& op = plan.ops()[size_t(fault[0]) - 1];
  if (!run.fault) fail(Code::out_of_range, "[%s] an index is out of range", op.spec->name);
  flag(plan, run, op, static_cast<FaultCode>(fault[1]));
}

// Waits for what was launched before an error: the plan's memory may go now.
void GpuDevice::settle() noexcept {
  try {
    gpu_->finish();
  } catch (const Failure&) {  // the first error is told
  }
  scratch_.settle();
  back_.forget();
}

void GpuDevice::need_running(const Plan& plan, const Run& run, size_t next) {
  need_wanted(plan, run, next);
  if (cancelled_) fail(Code::aborted, "the backend was disposed before its work was done");
}

void GpuDevice::launch(const Plan& plan, size_t op) {
  launch_op(*gpu_, scratch_, plan.ops()[op], int(op) + 1, reinterpret_cast<int*>(fault_.data()), precision_);
}

// Launches an op, or several together; the op behind them.
size_t GpuDevice::launch_next(const Plan& plan, const Placed& placed, size_t op) {
  const Folding folding = placed.foldings[op];
  if (folding != Folding::none && launch_folded(*gpu_, scratch_, std::span(plan.ops()).subspan(op, folded_ops), folding, int(op) + 1,
                                                reinterpret_cast<int*>(fault_.data()), precision_))
    return op + folded_ops;
  launch(plan, op);
  return op + 1;
}

// The first run fills scratch memory and loads kernels: what may not happen in a capture. `between`: called between segments.
template <class Between>
void GpuDevice::launch_all(Plan& plan, Placed& placed, const Run& run, Between& between) {
  if (placed.has_run && !run.times && gpu_->takes_graphs()) replay(plan, placed, run, between);
  else record(plan, placed, run, between);
  placed.has_run = true;
}

// Launches all ops. With times, each alone, a mark before each op and after the last, and no other marks.
template <class Between>
void GpuDevice::record(const Plan& plan, const Placed& placed, const Run& run, Between& between) {
  for (size_t i = 0, end = 0, marked = 0; i < plan.ops().size(); i = end) {
    if (run.times) gpu_->mark();
    else if (i - marked >= first_segment) between(), marked = i;
    need_running(plan, run, i);
    if (run.times) launch(plan, i), end = i + 1;
    else end = launch_next(plan, placed, i);
    for (size_t op = i; op < end; op++) count(plan.ops()[op]);
  }
  if (run.times) gpu_->mark();
}

// Launches all ops as graphs, which are made where they are missing.
template <class Between>
void GpuDevice::replay(const Plan& plan, Placed& placed, const Run& run, Between& between) {
  for (size_t from = 0, i = 0; from < plan.ops().size(); from = placed.segments[i++].end) {
    if (i > 0) between();
    need_running(plan, run, from);
    if (i == placed.segments.size()) {
      const size_t end = end_of_segment(plan.ops(), placed.foldings, from);
      placed.segments.push_back({end, gpu_->capture([&] {
        for (size_t op = from; op < end;) op = launch_next(plan, placed, op);
      })});
      placed.hold(scratch_);
    }
    gpu_->launch(*placed.segments[i].graph);
    for (size_t op = from; op < placed.segments[i].end; op++) count(plan.ops()[op]);
  }
}

}  // namespace quern::gpu
