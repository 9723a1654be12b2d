// MetalGpu: launches of kernels, and graphs of them.
#include <string.h>

#include "metal/metal-gpu.h"
#include "quern/failure.h"

namespace quern::metal {

static constexpr size_t most_args_bytes = 4096; // setBytes:length:atIndex:

struct MetalGpu::Launch {
  const Kernel* kernel;
  uint64_t blocks;
  int threads;
  size_t args_bytes;
};

// Launches in order, and their arguments behind one another. They are encoded again for each replay: three messages each, as many as
// commands of an indirect command buffer need when they are made.
struct MetalGpu::Recorded : gpu::GpuGraph {
  std::vector<Launch> launches;
  std::vector<uint8_t> args; // each at a multiple of 16 bytes

  void add(const Launch& launch, const void* its_args) {
    launches.push_back(launch);
    const size_t at = args.size();
    args.resize(at + padded(launch.args_bytes));
    memcpy(args.data() + at, its_args, launch.args_bytes);
  }
  static size_t padded(size_t bytes) { return (bytes + 15) / 16 * 16; }
};

MetalGpu::Launch MetalGpu::launch_of(const char* name, int64_t blocks, int threads, size_t args_bytes) {
  const Kernel& kernel = kernels_.find(name);
  if (args_bytes > most_args_bytes)
    fail(Code::device_failed, "%s has an argument of %zu bytes; Metal takes %zu", name, args_bytes, most_args_bytes);
  if (threads > kernel.most_threads)
    fail(Code::device_failed, "%s runs at most %d threads in a block on %s, not %d", name, kernel.most_threads, label_.c_str(), threads);
  return {&kernel, uint64_t(blocks), threads, args_bytes};
}

void MetalGpu::encode(const Launch& launch, const void* args) {
  queue_.launch(*launch.kernel, launch.blocks, launch.threads, args, launch.args_bytes);
}

void MetalGpu::launch_bytes(const char* name, int64_t blocks, int threads, const void* args, size_t args_bytes, int shared_bytes) {
  constexpr int64_t most_blocks = 4294967295;
  if (blocks == 0) return;
  if (blocks > most_blocks || shared_bytes > 0)
    fail(Code::unsupported, "%s: %lld blocks with %d bytes of shared memory; Metal takes %lld, without such bytes", name, (long long)blocks,
         shared_bytes, (long long)most_blocks);
  enter_queue();
  const Launch launch = launch_of(name, blocks, threads, args_bytes);
  if (recorded_) recorded_->add(launch, args);
  else encode(launch, args);
}

std::unique_ptr<gpu::GpuGraph> MetalGpu::capture(const std::function<void()>& launches) {
  auto recorded = std::make_unique<Recorded>();
  enter();
  recorded_ = recorded.get();
  try {
    launches();
  } catch (...) {
    recorded_ = nullptr;
    throw;
  }
  recorded_ = nullptr;
  return recorded;
}

void MetalGpu::launch(const gpu::GpuGraph& graph) {
  enter_queue();
  const auto& recorded = static_cast<const Recorded&>(graph);
  const uint8_t* args = recorded.args.data();
  for (const Launch& launch : recorded.launches) {
    encode(launch, args);
    args += Recorded::padded(launch.args_bytes);
  }
}

}  // namespace quern::metal
