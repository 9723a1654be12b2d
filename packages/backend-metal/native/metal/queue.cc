#include "metal/queue.h"

#include <algorithm>

#include "metal/strings.h"
#include "quern/spin.h"

namespace quern::metal {

static constexpr int most_launches = 64; // of a command buffer: the GPU begins while the next one is encoded

Queue::Queue(Object device, Object queue, Buffers& buffers) : queue_(queue), buffers_(buffers), fence_(new_fence(device)) {}

// An encoder has to end before it goes.
Queue::~Queue() {
  const Pool pool;
  end_encoder();
}

// The open encoder of this kind; it waits for the one before.
Object Queue::encoder(Encoder kind) {
  if (kind_ == kind) return encoder_.get();
  end_encoder();
  if (!work_) work_ = Owned::keep(command_buffer(queue_));
  encoder_ = Owned::keep(kind == Encoder::kernels ? compute_encoder(work_.get()) : blit_encoder(work_.get()));
  kind_ = kind;
  wait_for_fence(encoder_.get(), fence_.get());
  return encoder_.get();
}

void Queue::end_encoder() {
  if (std::exchange(kind_, Encoder::none) == Encoder::none) return;
  update_fence(encoder_.get(), fence_.get());
  end_encoding(encoder_.get());
  encoder_ = Owned();
  pipeline_ = nullptr;
}

void Queue::copy(Place to, Place from, uint64_t bytes) {
  const Pool pool;
  copy_buffer(encoder(Encoder::copies), from.buffer, from.offset, to.buffer, to.offset, bytes);
}

void Queue::fill(Place at, uint8_t value, uint64_t bytes) {
  const Pool pool;
  fill_buffer(encoder(Encoder::copies), at.buffer, {at.offset, bytes}, value);
}

void Queue::launch(const Kernel& kernel, uint64_t blocks, int threads, const void* args, size_t args_bytes) {
  const Pool pool;
  const Object to = encoder(Encoder::kernels);
  if (std::exchange(pipeline_, kernel.pipeline.get()) != kernel.pipeline.get()) set_pipeline(to, kernel.pipeline.get());
  set_bytes(to, args, args_bytes, 0);
  dispatch(to, {blocks, 1, 1}, {Natural(threads), 1, 1});
  if (++launches_ == most_launches) commit_work();
}

uint64_t Queue::commit_work() {
  if (work_) {
    const Pool pool;
    end_encoder();
    buffers_.make_resident();
    commit(work_.get());
    committed_.push_back(std::move(work_));
    work_ = Owned();
    launches_ = 0;
  }
  return ended_ + committed_.size();
}

// Polls, then sleeps: most waits are short, or long enough for a wake-up not to matter.
std::string Queue::end_first() {
  const Object work = committed_.front().get();
  if (!spin([work] { return status_of(work) >= status_completed; })) wait_completed(work);
  const std::string failure = status_of(work) == status_error ? told(error_of(work)) : "";
  worked_.push_back(worked_.back() + std::max(0.0, gpu_end(work) - gpu_start(work)));
  committed_.pop_front();
  ended_++;
  return failure;
}

std::string Queue::wait(uint64_t number) {
  const Pool pool;
  std::string failure;
  while (ended_ < number) {
    const std::string told = end_first();
    if (failure.empty()) failure = told;
  }
  return failure;
}

double Queue::worked(uint64_t number) const {
  return worked_[std::min<size_t>(number - std::min(number, forgotten_), worked_.size() - 1)];
}

void Queue::forget_times() {
  forgotten_ = ended_;
  worked_ = {0};
}

}  // namespace quern::metal
