// A plan on the device.
#pragma once
#include <memory>
#include <vector>

#include "gpu/folded-norms.h"
#include "gpu/scratch.h"
#include "quern/plan.h"

namespace quern::gpu {

// Ops that are launched at once, up to `end`.
struct Segment {
  size_t end;
  std::unique_ptr<GpuGraph> graph;
};

// Its memory. A captured plan keeps it, and so the inputs of its last run; from its second run on its launches
// are graphs.
struct Placed : Prepared {
  Placed(const std::shared_ptr<Gpu>& gpu, const Plan& plan)
      : arena(gpu, plan.arena_bytes()),
        inputs(gpu, plan.host().inputs_bytes),
        outputs(gpu, plan.host().outputs_bytes),
        written(plan.written_outputs()),
        foldings(gpu->folds_norms() ? folded_norms(plan.ops()) : std::vector<Folding>(plan.ops().size(), Folding::none)) {
    gpu->fill(inputs.data(), 0, inputs.bytes());
  }
  const GpuBuffer arena, inputs, outputs;
  const std::vector<ByteRange> written;
  const std::vector<Folding> foldings;
  bool has_run = false;
  bool in_chain = false;                                       // `inputs` may be further than those of the host
  std::vector<Segment> segments;
  std::vector<std::shared_ptr<const GpuBuffer>> scratch_held;  // what they use

  void hold(const Scratch& scratch) {
    scratch_held.insert(scratch_held.end(), scratch.held().begin(), scratch.held().end());
  }
};

}  // namespace quern::gpu
