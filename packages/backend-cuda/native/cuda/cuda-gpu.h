// A GPU of NVIDIA, through the driver API. A failure ends its context (shared-context.h). A new backend in the same process may work;
// after a fault of the device the driver may refuse all further work of the process. Every wait has an end: a device that hangs is a
// failure, too, and what it may still use is never freed.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cuda/estimated-rates.h"
#include "cuda/shared-context.h"
#include "gpu/gpu.h"

namespace quern::cuda {

class CudaGpu : public gpu::Gpu {
 public:
  // Throws UNSUPPORTED: no such device, compute capability below 8.0.
  CudaGpu(const Driver& driver, int index);
  ~CudaGpu() override;

  std::string name() const override { return facts_.name; }
  std::string isa() const override { return facts_.isa(); }
  std::string driver() const override { return driver_.shown_version(); }
  std::string uuid() const override { return facts_.uuid; }
  int processors() const override { return facts_.processors; }
  int shared_memory() const override { return facts_.shared_memory; }
  int cache_memory() const override { return facts_.cache_memory; }
  bool has_warpgroup_products() const override { return facts_.has_warpgroup_products(); }
  gpu::TensorMap tensor_map(const gpu::CopiedMatrix& matrix) const override;
  std::optional<gpu::Rates> estimated_rates(Precision precision) const override { return cuda::estimated_rates(facts_, precision); }
  bool takes_graphs() const override { return takes_graphs_; }
  bool folds_norms() const override { return folds_norms_; }
  uint64_t total_memory() const override { return facts_.memory; }
  uint64_t free_memory() const override;
  uint8_t* allocate(uint64_t bytes) override;
  void free(uint8_t* data) noexcept override;
  uint8_t* allocate_host(uint64_t bytes) override;
  void free_host(uint8_t* data) noexcept override;
  void clear(uint8_t* data, uint64_t bytes) override;
  void fill(uint8_t* to, uint8_t value, uint64_t bytes) override;
  void copy_in(uint8_t* to, const void* from, uint64_t bytes) override;
  void copy_out(void* to, const uint8_t* from, uint64_t bytes) override;
  std::unique_ptr<gpu::GpuGraph> capture(const std::function<void()>& launches) override;
  using gpu::Gpu::launch;
  void launch(const gpu::GpuGraph& graph) override;
  void finish() override;
  int mark() override;
  void mark_again(int mark) override;
  void wait(int mark) override;
  double milliseconds(int from, int to) override;
  void forget_marks() override { marks_ = 0; }

 protected:
  void launch_bytes(const char* name, int64_t blocks, int threads, const void* args, size_t args_bytes, int shared_bytes) override;

 private:
  // Makes the context current in this thread. Throws DEVICE_FAILED after a failure, and in a forked process.
  void enter() const;
  // As `enter`, before work for the queue; once until `finish`, because one thread at a time uses the queue.
  void enter_queue();
  // As Driver::need; keeps a failure.
  void need(Result result, const char* act) const;
  // The same for work in the queue: errors of a kernel come with later calls, so that the message names the kernels before.
  void need_queued(Result result, const char* act) const {
    if (result != 0) need(result, launched_.empty() ? act : text("%s after %s", act, running(launches()).c_str()).c_str());
  }
  [[noreturn]] void fail_for_ever(const std::string& message) const;
  // Not in a forked process; not beside work that does not end: the driver's functions would wait for it.
  bool may_free() const { return getpid() == process_ && !hangs_; }
  // Polls, then sleeps between polls, at most QUERN_CUDA_WAIT seconds. what(): what is waited for, for messages.
  void wait_for(const std::function<Result()>& query, const std::function<std::string()>& what);
  // "one of the kernels rms_norm, rope": those that may run, of the launches up to this number.
  std::string running(uint64_t launches) const;
  // Launches up to this number have ended.
  void have_ended(uint64_t launches);
  uint64_t launches() const { return ended_ + launched_.size(); }
  struct Hash : std::hash<std::string_view> {  // finds names without making strings
    using is_transparent = void;
  };
  struct Kernel {
    Function function = nullptr;
    size_t args_bytes = 0;  // 0: the driver does not report them
  };
  using NamedKernel = std::pair<const std::string, Kernel>;
  // shared_bytes: what all its launches give.
  const NamedKernel& kernel(const char* name, int shared_bytes);
  struct CapturedGraph;
  void forget(GraphExec exec) noexcept;
  // The context in this thread for a while: freeing happens in any thread, which may have another one of somebody else.
  class Inside {
   public:
    explicit Inside(const CudaGpu& gpu) : driver_(gpu.driver_) { driver_.context_push(gpu.shared_->context); }
    ~Inside() {
      Context left = nullptr;
      driver_.context_pop(&left);
    }

   private:
    const Driver& driver_;
  };
  void free_now(uint8_t* data) noexcept;
  void free_released() noexcept;

  const Driver& driver_;
  const GpuFacts facts_;
  const std::string label_;
  std::shared_ptr<SharedContext> shared_;
  Stream stream_ = nullptr, clearing_ = nullptr;
  const pid_t process_;
  const double wait_limit_;  // seconds
  const bool takes_graphs_, folds_norms_;
  mutable std::mutex mutex_;
  mutable std::string failure_;  // the first one
  mutable std::atomic<bool> failed_{false};
  std::atomic<bool> hangs_{false};
  std::unordered_map<std::string, Kernel, Hash, std::equal_to<>> kernels_;
  bool launches_depend_ = false;  // on the launch before, not on its end
  bool behind_launch_ = false;    // the queue ends with a launch
  std::deque<const char*> launched_;             // kernels in the queue, as far as is known
  std::deque<const char*>* captured_ = nullptr;  // while launches are captured
  uint64_t ended_ = 0;                           // launches before those
  std::vector<Event> events_;
  std::vector<uint64_t> launches_before_;  // each event: their number
  std::atomic<bool> busy_{false};    // the queue may have work
  std::vector<uint8_t*> released_;   // while it had
  int marks_ = 0;
};

} // namespace quern::cuda
