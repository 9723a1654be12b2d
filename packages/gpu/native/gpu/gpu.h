// A GPU as the executor needs it: memory, copies, launches, all in one queue. Implemented by each platform.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "dialect/tensor-map.h"
#include "gpu/rates.h"

namespace quern::gpu {

// Launches that were captured, to be made again as one.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
};

// bf16 [rows, columns], rows `pitch` bytes apart, as kernels copy it: box_rows rows of 64 values at a time.
struct CopiedMatrix {
  const uint16_t* values; // both at multiples of 16 bytes
  int64_t rows, columns, pitch;
  int box_rows; // at most 256
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual std::string name() const = 0;
  virtual std::string isa() const = 0;  // "sm_90"
  virtual std::string driver() const = 0;  // "CUDA 13.0"
  virtual std::string uuid() const = 0;    // of this one GPU; empty: unknown
  virtual int processors() const = 0;   // units that run blocks
  virtual int shared_memory() const = 0; // bytes that a block may have
  virtual int cache_memory() const = 0;  // bytes of the cache that all processors share
  virtual bool shares_host_memory() const { return false; }
  // Whether it has units for matrices: tensor cores, or matrices of simdgroups.
  virtual bool has_matrices() const { return true; }
  // Whether kernels may use copies of tensors and products of warpgroups (dialect/hopper.h).
  virtual bool has_warpgroup_products() const { return false; }
  // For the argument of such a kernel. The map does not keep the matrix.
  virtual TensorMap tensor_map(const CopiedMatrix&) const { return {}; }
  // From what the GPU says of itself, without work on it. None: rates can only be measured.
  virtual std::optional<Rates> estimated_rates(Precision) const { return {}; }
  // Whether launches that repeat are captured; else each is made anew.
  virtual bool takes_graphs() const { return true; }
  // Whether norms between products are computed inside the products (folded-norms.h).
  virtual bool folds_norms() const { return true; }
  virtual uint64_t total_memory() const = 0;
  virtual uint64_t free_memory() const = 0;
  // Not zeroed. Throws OUT_OF_MEMORY with the bytes asked for and free. Any thread.
  virtual uint8_t* allocate(uint64_t bytes) = 0;
  // Never waits for the queue: while it is busy, the memory is free after the next `finish`. Any thread.
  virtual void free(uint8_t* data) noexcept = 0;
  // Pinned memory of the host, not zeroed: copies of it run beside the caller. Null: the system refuses. Any thread.
  virtual uint8_t* allocate_host(uint64_t bytes) = 0;
  // Nothing in the queue may use it. Any thread.
  virtual void free_host(uint8_t* data) noexcept = 0;
  // Memory of the host as kernels read it, without a copy, until `take_back`; `owner` keeps it. Null: this GPU, or this memory, does not
  // allow it. Any thread.
  virtual const uint8_t* lend(const uint8_t*, uint64_t, std::shared_ptr<const void>) { return nullptr; }
  // As `free`.
  virtual void take_back(const uint8_t*) noexcept {}
  // Zeroes memory that nothing in the queue uses, and waits. Any thread, beside a capture too.
  virtual void clear(uint8_t* data, uint64_t bytes) = 0;

  // In the order of calls. The host's memory may be used again after `finish`.
  virtual void fill(uint8_t* to, uint8_t value, uint64_t bytes) = 0;
  virtual void copy_in(uint8_t* to, const void* from, uint64_t bytes) = 0;
  virtual void copy_out(void* to, const uint8_t* from, uint64_t bytes) = 0;
  // `args`: the kernel's one argument; copied. shared_bytes: of the kernel's LARGE_SHARED.
  template <class Args>
  void launch(const char* kernel, int64_t blocks, int threads, const Args* args, int shared_bytes = 0) {
    launch_bytes(kernel, blocks, threads, args, sizeof(Args), shared_bytes);
  }
  // What `launches` puts into the queue, as a graph; nothing of it runs now. The graph does not keep the memory it uses.
  virtual std::unique_ptr<GpuGraph> capture(const std::function<void()>& launches) = 0;
  virtual void launch(const GpuGraph& graph) = 0;
  // Waits until all is done. Throws DEVICE_FAILED, also for work that does not end.
  virtual void finish() = 0;

  // Milliseconds between two marks in the queue; after `finish`.
  virtual int mark() = 0;
  // Moves a mark to the end of the queue.
  virtual void mark_again(int mark) = 0;
  // Waits until the queue has passed a mark.
  virtual void wait(int mark) = 0;
  virtual double milliseconds(int from, int to) = 0;
  virtual void forget_marks() = 0;

 protected:
  // Refused if the kernel's argument has another size than args_bytes.
  virtual void launch_bytes(const char* kernel, int64_t blocks, int threads, const void* args, size_t args_bytes,
                            int shared_bytes) = 0;
};

}  // namespace quern::gpu
