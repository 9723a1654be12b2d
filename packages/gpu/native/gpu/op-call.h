// One op of a plan on its way to the GPU: its operands as addresses of the device, and launches.
#pragma once
#include "gpu/gpu.h"
#include "gpu/gpu-weight.h"
#include "gpu/scratch.h"
#include "quern/op-view.h"
#include "quern/precision.h"

namespace quern::gpu {

struct FoldedX;

class OpCall : public OpView {
 public:
  OpCall(Gpu& gpu, Scratch& scratch, const PlanOp& op, int index, int* fault, Precision precision, const FoldedX* folded_x = nullptr)
      : OpView(op, copies_), precision(precision), index(index), fault(fault), folded_x(folded_x), gpu_(gpu), scratch_(scratch) {}

  const Precision precision;
  const int index;               // of the op + 1
  int* const fault;              // int [2] on the device
  const FoldedX* const folded_x; // in the place of x (ops/folded-norm.h); null: x is as it is

  const int32_t* ids(int operand) const { return ints_out(operand); }
  // A weight [rows, columns] or [E, N, K].
  const GpuWeight& weight(int index, int rank) const;
  // A weight [length] as floats; null if absent.
  const float* vector(int index, int64_t length) const;
  // A dimension or count as int: kernels count with 32 bits.
  int small(int64_t value) const;

  int64_t processors() const { return gpu_.processors(); }
  int shared_memory() const { return gpu_.shared_memory(); }
  bool has_warpgroup_products() const { return gpu_.has_warpgroup_products(); }
  Gpu& gpu() const { return gpu_; }
  int cache_memory() const { return gpu_.cache_memory(); }

  // [count] on the device until the op's end, not initialised.
  template <class T>
  T* scratch(int64_t count) const {
    return scratch_.take<T>(count);
  }

  template <class Args>
  void launch(const char* kernel, int64_t blocks, int threads, const Args& args, int shared_bytes = 0) const {
    gpu_.launch(kernel, blocks, threads, &args, shared_bytes);
  }
  template <class Args>
  void launch(const std::string& kernel, int64_t blocks, int threads, const Args& args, int shared_bytes = 0) const {
    launch(kernel.c_str(), blocks, threads, args, shared_bytes);
  }
  // One thread per element, up to a grid that fills a device.
  template <class Args>
  void launch_elements(const char* kernel, int64_t n, const Args& args) const {
    constexpr int threads = 256;
    constexpr int64_t most_blocks = 4096;
    launch(kernel, std::min(most_blocks, (n + threads - 1) / threads), threads, args);
  }

 private:
  Gpu& gpu_;
  Scratch& scratch_;
  IntCopies copies_;
};

// Threads of a block that computes a row: whole warps, no more than the row has elements.
inline int threads_of_row(int64_t width) { return int(std::clamp<int64_t>((width + 31) / 32 * 32, 32, 256)); }
// For sums over rows: up to eight elements per thread in wide rows, as many as row-fours.h keeps.
inline int threads_of_sum(int64_t width) { return int(std::clamp<int64_t>((width + 255) / 256 * 32, threads_of_row(width), 1024)); }

// The kernel's name for a format of weights.
std::string kernel_for(const char* name, const GpuWeight& weight);

// How a weight is stored: kernels take its address, or planes. with_array calls use(array).
struct Address {
  const uint8_t* data;
};
template <class Weights>
Weights array_of(const GpuWeight& weight);
template <>
inline Address array_of<Address>(const GpuWeight& weight) {
  return {weight.data()};
}
template <>
inline Planes array_of<Planes>(const GpuWeight& weight) {
  return weight.planes();
}
template <class F>
void with_array(const GpuWeight& weight, const F& use) {
  if (weight.format().dense) use(array_of<Address>(weight));
  else use(array_of<Planes>(weight));
}

}  // namespace quern::gpu
