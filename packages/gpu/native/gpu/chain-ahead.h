// Replays of a chain that are launched ahead: the device advances the inputs by itself (kernels/chain.h), and the host follows
// with the tokens of the replays that have ended.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "gpu/gpu-buffer.h"
#include "gpu/read-back.h"
#include "kernels/chain.h"
#include "quern/chain.h"
#include "quern/device.h"

namespace quern::gpu {

// Memory of chains; the next chain uses it again.
class ChainMemory {
 public:
  explicit ChainMemory(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}
  // At least as many bytes. The queue is empty.
  uint8_t* on_device(uint64_t bytes);
  uint8_t* on_host(uint64_t bytes);
  std::vector<uint8_t> upload;  // while it is copied

 private:
  const std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<GpuBuffer> device_;
  std::unique_ptr<HostBuffer> host_;
  uint64_t host_bytes_ = 0;
};

// Memory of a plan on the device, and the fault: int [2].
struct ChainPlan {
  const HostMemory& host;
  uint8_t *inputs, *outputs, *fault;
};

class ChainAhead {
 public:
  static constexpr int ahead = 2;  // replays in the queue: one runs, one waits

  // `replay` puts the plan into the queue.
  ChainAhead(Gpu& gpu, ChainMemory& memory, const Chain& chain, const ChainRun& run, const ChainPlan& plan, std::function<void()> replay);

  // The tokens with which rows end, for Chain::run: as JavaScript lowered them until the last replay that was read.
  const int32_t* limits() const { return limits_.data(); }
  // Waits for the next replay's tokens, with one replay more in the queue behind it. They become the plan's output; rows that have
  // ended keep theirs. Returns the replay's fault: int [2].
  const int32_t* next();
  // After the last replay: reads back with which counts rows ended on the device.
  void read_counts(ReadBack& back);
  // Whether the device went on with a row beyond a limit that JavaScript lowered.
  bool went_too_far() const;

 private:
  void place(const ChainPlan& plan);
  std::vector<int64_t> place_growing(const HostMemory& host) const;
  void upload(ChainMemory& memory, const std::vector<int64_t>& growing, std::span<const int32_t> stops);
  bool wants_more() const;
  void launch();
  int32_t* landing(int64_t slot) const { return landing_ + slot * record_words(); }
  int64_t record_words() const { return 2 + chain_.rows(); }

  Gpu& gpu_;
  const Chain& chain_;
  const int32_t* const given_limits_;
  const std::function<void()> replay_;
  AdvanceChain args_{};
  std::vector<int32_t> limits_, device_limits_;  // [S]; those of the device after the last replay
  int32_t* const landing_;  // [ahead, 2 + S]: faults, tokens
  int64_t launched_ = 0, done_ = 0;
};

}  // namespace quern::gpu
