#include "quern/device.h"

#include <string.h>

#include <algorithm>

#include "quern/chain.h"
#include "quern/failure.h"
#include "quern/machine.h"

namespace quern {

double Device::milliseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(now).count();
}

bool Device::has_run() const {
  return std::ranges::any_of(runs_, [](const std::atomic<uint64_t>& runs) { return runs.load(std::memory_order_relaxed) > 0; });
}

void Device::need_wanted(const Plan& plan, const Run& run, size_t next) {
  if (__atomic_load_n(run.control, __ATOMIC_RELAXED) != 0)
    fail(Code::aborted, "the step was aborted before op %zu of %zu, %s", next + 1, plan.ops().size(), plan.ops()[next].spec->name);
}

void Device::flag(const Plan& plan, const Run& run, const PlanOp& op, FaultCode code) {
  if (!run.fault || run.fault[0] != 0) return;
  run.fault[0] = static_cast<int32_t>(&op - plan.ops().data() + 1);
  run.fault[1] = static_cast<int32_t>(code);
}

// Between two replays any input may have changed.
int64_t Device::run_chain(Plan& plan, Chain& chain, const ChainRun& given) {
  const ByteRange all = {0, plan.host().inputs_bytes};
  Run run = given.run;
  return chain.run(given.limits, given.stops, [&] {
    run_plan(*this, plan, run);
    run.dirty = {&all, 1};
    return !run.fault || run.fault[0] == 0;
  });
}

void Device::write(const Buffer& to, uint64_t offset, std::span<const uint8_t> bytes) {
  if (!bytes.empty()) memcpy(to.data() + offset, bytes.data(), bytes.size());
}

void Device::read(const Buffer& from, uint64_t offset, std::span<uint8_t> bytes) {
  if (!bytes.empty()) memcpy(bytes.data(), from.data() + offset, bytes.size());
}

uint64_t HostDevice::free_memory() const { return memory_state().available; }

void HostDevice::run(Plan& plan, const Run& run) {
  plan.bind({arena(plan.arena_bytes()), plan.host().inputs, plan.host().outputs});
  each_op(plan, run, [this](const PlanOp& op) { run_op(op); });
}

// The arena grows to the largest plan. Plans do not share arena contents.
uint8_t* HostDevice::arena(uint64_t bytes) {
  if (bytes > arena_.bytes()) {
    arena_ = Pages();
    arena_ = Pages(bytes);
  }
  return arena_.data();
}

void run_plan(Device& device, Plan& plan, const Run& run) {
  try {
    device.run(plan, run);
  } catch (const Failure& failure) {
    if (failure.code == Code::aborted) throw;
    plan.need_whole_files();
    throw Failure(failure.code, failure.what() + plan.changed_files());
  }
  if (FaultGuard::any_lost()) plan.need_whole_files();
}

} // namespace quern
