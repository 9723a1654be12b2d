// CudaGpu: launches of kernels, and graphs of them.
#include <unistd.h>

#include "cuda/cuda-gpu.h"
#include "quern/failure.h"

namespace quern::cuda {

const CudaGpu::NamedKernel& CudaGpu::kernel(const char* name, int shared_bytes) {
  const auto found = kernels_.find(std::string_view(name));
  if (found != kernels_.end()) return *found;
  Kernel kernel;
  need(driver_.module_function(&kernel.function, shared_->module, name), name);
  if (shared_bytes > 0) need(driver_.function_set(kernel.function, max_dynamic_shared_bytes, shared_bytes), name);
  size_t offset = 0;
  if (driver_.parameter_info) need(driver_.parameter_info(kernel.function, 0, &offset, &kernel.args_bytes), name);
  return *kernels_.emplace(name, kernel).first;
}

void CudaGpu::launch_bytes(const char* name, int64_t blocks, int threads, const void* args, size_t args_bytes, int shared_bytes) {
  constexpr int64_t max_blocks = 2147483647;
  if (blocks == 0) return;
  if (blocks > max_blocks)
    fail(Code::unsupported, "%s: %lld blocks; a grid has at most %lld", name, (long long)blocks, (long long)max_blocks);
  enter_queue();
  const auto& [own_name, launched] = kernel(name, shared_bytes);
  if (launched.args_bytes != 0 && launched.args_bytes != args_bytes)
    fail(Code::device_failed, "%s takes an argument of %zu bytes, not %zu", name, launched.args_bytes, args_bytes);
  // It may begin before the launch ahead of it is done; kernels wait themselves.
  const LaunchAttribute dependent{programmatic_stream_serialization, 1, {}};
  const bool depends = launches_depend_ && behind_launch_;
  const LaunchConfig config{unsigned(blocks),      1, 1, unsigned(threads), 1, 1, unsigned(shared_bytes), stream_,
                            depends ? &dependent : nullptr, depends};
  void* arguments[] = {const_cast<void*>(args)};
  need_queued(driver_.launch(&config, launched.function, arguments, nullptr), name);
  behind_launch_ = true;
  (captured_ ? *captured_ : launched_).push_back(own_name.c_str());
}

struct CudaGpu::CapturedGraph : gpu::GpuGraph {
  explicit CapturedGraph(CudaGpu& gpu) : gpu(gpu) {}
  ~CapturedGraph() override { gpu.forget(exec); }
  CudaGpu& gpu;
  GraphExec exec = nullptr;
  std::deque<const char*> kernels;  // in their order
};

void CudaGpu::forget(GraphExec exec) noexcept {
  if (!exec || !may_free()) return;
  const Inside inside(*this);
  driver_.graph_exec_destroy(exec);
}

std::unique_ptr<gpu::GpuGraph> CudaGpu::capture(const std::function<void()>& launches) {
  auto captured = std::make_unique<CapturedGraph>(*this);
  Graph graph = nullptr;
  enter();
  need(driver_.capture_begin(stream_, capture_relaxed), "starting a capture");
  behind_launch_ = false;
  captured_ = &captured->kernels;
  try {
    launches();
  } catch (...) {
    behind_launch_ = false;
    captured_ = nullptr;
    if (driver_.capture_end(stream_, &graph) == 0) driver_.graph_destroy(graph);
    throw;
  }
  captured_ = nullptr;
  behind_launch_ = false;
  need(driver_.capture_end(stream_, &graph), "ending a capture");
  const Result made = driver_.graph_instantiate(&captured->exec, graph, 0);
  driver_.graph_destroy(graph);
  need(made, "making a graph");
  return captured;
}

void CudaGpu::launch(const gpu::GpuGraph& graph) {
  enter_queue();
  behind_launch_ = false;
  const auto& captured = static_cast<const CapturedGraph&>(graph);
  need_queued(driver_.graph_launch(captured.exec, stream_), "launching a graph");
  launched_.insert(launched_.end(), captured.kernels.begin(), captured.kernels.end());
}

}  // namespace quern::cuda
