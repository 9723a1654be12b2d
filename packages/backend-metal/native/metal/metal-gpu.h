// A GPU of Apple, by Metal: memory that the host shares, kernels compiled when they are needed, one queue.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "gpu/gpu.h"
#include "metal/buffers.h"
#include "metal/kernels.h"
#include "metal/metal-facts.h"
#include "metal/queue.h"
#include "metal/staged.h"

namespace quern::metal {

class MetalGpu : public gpu::Gpu {
 public:
  // folder: of compiled kernels; empty: none. Throws UNSUPPORTED: no such device, or one that this backend cannot use.
  MetalGpu(int index, const std::string& folder);
  ~MetalGpu() override;

  std::string name() const override { return facts_.name; }
  std::string isa() const override { return facts_.isa(); }
  std::string driver() const override;
  std::string uuid() const override;
  int processors() const override { return processors_; }
  int shared_memory() const override { return shared_memory_; }
  int cache_memory() const override { return 0; } // unknown
  bool shares_host_memory() const override { return true; }
  bool has_matrices() const override { return facts_.has_matrices(); }
  uint64_t total_memory() const override { return facts_.memory; }
  uint64_t free_memory() const override;
  uint8_t* allocate(uint64_t bytes) override;
  void free(uint8_t* data) noexcept override;
  uint8_t* allocate_host(uint64_t bytes) override;
  void free_host(uint8_t* data) noexcept override;
  const uint8_t* lend(const uint8_t* data, uint64_t bytes, std::shared_ptr<const void> owner) override;
  void take_back(const uint8_t* data) noexcept override;
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
  void forget_marks() override;

 protected:
  void launch_bytes(const char* name, int64_t blocks, int threads, const void* args, size_t args_bytes, int shared_bytes) override;

 private:
  void need_own_process() const;
  // Throws DEVICE_FAILED after a failure, and in a forked process.
  void enter() const;
  void enter_queue();
  void wait_for(uint64_t number);
  [[noreturn]] void refuse(uint64_t bytes) const;
  void free_released() noexcept;
  struct Launch;
  struct Recorded;
  Launch launch_of(const char* name, int64_t blocks, int threads, size_t args_bytes);
  void encode(const Launch& launch, const void* args);

  const MetalFacts facts_;
  const std::string label_;
  const pid_t process_;
  const Owned queue_object_;
  Buffers buffers_;
  Kernels kernels_;
  Queue queue_;
  Staged staged_;
  int processors_, shared_memory_;
  Recorded* recorded_ = nullptr; // while launches are captured
  std::vector<uint64_t> marks_;  // numbers of command buffers
  mutable std::mutex mutex_;
  std::string failure_;          // the first one
  std::atomic<bool> failed_{false};
  std::atomic<bool> busy_{false};   // the queue may have work
  std::vector<uint8_t*> released_;  // while it had
  std::vector<const uint8_t*> taken_back_;  // likewise
};

}  // namespace quern::metal
