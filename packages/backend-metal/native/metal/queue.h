// Work of a GPU in order: command buffers of one queue, their encoders, and a fence from each encoder to the next, because memory is not
// tracked by Metal.
#pragma once
#include <stdint.h>

#include <deque>
#include <string>
#include <vector>

#include "metal/buffers.h"
#include "metal/kernels.h"
#include "metal/objc.h"

namespace quern::metal {

// One thread at a time.
class Queue {
 public:
  Queue(Object device, Object queue, Buffers& buffers);
  ~Queue();

  void copy(Place to, Place from, uint64_t bytes);
  void fill(Place at, uint8_t value, uint64_t bytes);
  // blocks > 0
  void launch(const Kernel& kernel, uint64_t blocks, int threads, const void* args, size_t args_bytes);

  // Hands the work so far to the GPU. The number of its last command buffer, from 1 on; 0: there was none.
  uint64_t commit_work();
  // Waits for a command buffer and all before it. The failure of the first that failed; empty: none.
  std::string wait(uint64_t number);
  // Seconds that the GPU worked from `forget_times` on, to the end of a command buffer; after wait.
  double worked(uint64_t number) const;
  void forget_times();

 private:
  enum class Encoder { none, kernels, copies };
  Object encoder(Encoder kind);
  void end_encoder();
  std::string end_first();

  const Object queue_;
  Buffers& buffers_;
  const Owned fence_;
  Owned work_, encoder_;      // MTLCommandBuffer and its open encoder
  Encoder kind_ = Encoder::none;
  Object pipeline_ = nullptr; // of the open encoder
  int launches_ = 0;          // in work_
  std::deque<Owned> committed_;
  uint64_t ended_ = 0;        // command buffers
  uint64_t forgotten_ = 0;        // the number of worked_[0]
  std::vector<double> worked_{0};
};

}  // namespace quern::metal
