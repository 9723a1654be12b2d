#include "metal/metal-gpu.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "metal/api.h"
#include "metal/gpu-cores.h"
#include "quern/failure.h"
#include "quern/machine.h"

namespace quern::metal {

static constexpr int usual_cores = 8; // where the number is unknown

static const MetalFacts& usable(const MetalFacts& facts) {
  if (!facts.unusable.empty()) throw Failure(Code::unsupported, facts.unusable);
  return facts;
}

static int cores_or_usual() {
  const int cores = gpu_cores();
  return cores > 0 ? cores : usual_cores;
}

MetalGpu::MetalGpu(int index, const std::string& folder)
    : facts_(facts_of(index)),
      label_(usable(facts_).label()),
      process_(getpid()),
      queue_object_(new_queue(facts_.device.get())),
      buffers_(facts_.device.get(), queue_object_.get()),
      kernels_(facts_.device.get(), label_, folder, facts_.system),
      queue_(facts_.device.get(), queue_object_.get(), buffers_),
      staged_(buffers_),
      processors_(cores_or_usual()),
      shared_memory_(int(most_shared_bytes(facts_.device.get()))) {}

// What the GPU still works on keeps nothing of the host's: memory goes when the queue is empty.
MetalGpu::~MetalGpu() {
  if (getpid() != process_) return;
  queue_.wait(queue_.commit_work());
  busy_ = false;
  free_released();
}

std::string MetalGpu::driver() const {
  return kernels_.notice().empty() ? facts_.system : facts_.system + "; " + kernels_.notice();
}

std::string MetalGpu::uuid() const { return text("metal-%016llx", (unsigned long long)facts_.registry_id); }

void MetalGpu::need_own_process() const {
  if (getpid() != process_)
    fail(Code::device_failed, "this backend belongs to process %d: a forked process cannot use Metal; start a new process", int(process_));
}

void MetalGpu::enter() const {
  need_own_process();
  if (!failed_) return;
  const std::lock_guard lock(mutex_);
  fail(Code::device_failed, "%s has failed before (%s): dispose the backend or model and make a new one", label_.c_str(), failure_.c_str());
}

void MetalGpu::enter_queue() {
  if (busy_ && !failed_) return;
  enter();
  busy_ = true;
}

// Other processes have the rest of the machine's memory, which is the GPU's too.
uint64_t MetalGpu::free_memory() const {
  const uint64_t allocated = allocated_size(facts_.device.get());
  const uint64_t left = facts_.memory > allocated ? facts_.memory - allocated : 0;
  return std::min(left, memory_state().available);
}

void MetalGpu::refuse(uint64_t bytes) const {
  fail(Code::out_of_memory, "%s of memory were asked for (%llu bytes), but %s has %s free of a working set of %s", show_bytes(bytes).c_str(),
       (unsigned long long)bytes, label_.c_str(), show_bytes(free_memory()).c_str(), show_bytes(facts_.memory).c_str());
}

uint8_t* MetalGpu::allocate(uint64_t bytes) {
  enter();
  if (bytes > free_memory()) free_released();
  uint8_t* const data = bytes <= free_memory() ? buffers_.allocate(bytes) : nullptr;
  if (!data) refuse(bytes);
  return data;
}

void MetalGpu::free(uint8_t* data) noexcept {
  if (getpid() != process_) return;
  if (!busy_) return buffers_.free(data);
  const std::lock_guard lock(mutex_);
  released_.push_back(data);
}

// Nothing may use the memory, so not while the queue has work.
void MetalGpu::free_released() noexcept {
  if (busy_) return;
  std::vector<uint8_t*> released;
  std::vector<const uint8_t*> taken_back;
  {
    const std::lock_guard lock(mutex_);
    released.swap(released_), taken_back.swap(taken_back_);
  }
  for (uint8_t* const data : released) buffers_.free(data);
  for (const uint8_t* const data : taken_back) buffers_.take_back(data);
}

uint8_t* MetalGpu::allocate_host(uint64_t bytes) {
  enter();
  return buffers_.allocate_host(bytes);
}

void MetalGpu::free_host(uint8_t* data) noexcept {
  if (getpid() == process_) buffers_.free_host(data);
}

const uint8_t* MetalGpu::lend(const uint8_t* data, uint64_t bytes, std::shared_ptr<const void> owner) {
  enter();
  return buffers_.lend(data, bytes, std::move(owner));
}

void MetalGpu::take_back(const uint8_t* data) noexcept {
  if (getpid() != process_) return;
  if (!busy_) return buffers_.take_back(data);
  const std::lock_guard lock(mutex_);
  taken_back_.push_back(data);
}

void MetalGpu::clear(uint8_t* data, uint64_t bytes) {
  enter();
  if (bytes > 0) memset(buffers_.contents_at(data), 0, bytes);
}

void MetalGpu::fill(uint8_t* to, uint8_t value, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  queue_.fill(buffers_.place_of(to), value, bytes);
}

void MetalGpu::copy_in(uint8_t* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  Place seen = buffers_.place_on_host(from);
  if (!seen.buffer) {
    uint8_t* const staged = staged_.take(bytes);
    memcpy(staged, from, bytes);
    seen = buffers_.place_on_host(staged);
  }
  queue_.copy(buffers_.place_of(to), seen, bytes);
}

void MetalGpu::copy_out(void* to, const uint8_t* from, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  Place seen = buffers_.place_on_host(to);
  if (!seen.buffer) {
    uint8_t* const staged = staged_.take(bytes);
    staged_.deliver(to, staged, bytes);
    seen = buffers_.place_on_host(staged);
  }
  queue_.copy(seen, buffers_.place_of(from), bytes);
}

void MetalGpu::wait_for(uint64_t number) {
  const std::string failure = queue_.wait(number);
  if (failure.empty()) return;
  const std::string told = text("the step failed on %s: %s", label_.c_str(), failure.c_str());
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = told;
  }
  failed_ = true;
  throw Failure(Code::device_failed, told);
}

// After a failure too: the GPU may still work on command buffers behind the one that failed.
void MetalGpu::finish() try {
  need_own_process();
  wait_for(queue_.commit_work());
  enter();
  busy_ = false;
  staged_.settle(true);
  free_released();
  kernels_.keep();
} catch (...) {
  busy_ = false;
  staged_.settle(false);
  throw;
}

int MetalGpu::mark() {
  marks_.push_back(0);
  mark_again(int(marks_.size()) - 1);
  return int(marks_.size()) - 1;
}

void MetalGpu::mark_again(int mark) {
  enter_queue();
  marks_[size_t(mark)] = queue_.commit_work();
}

void MetalGpu::wait(int mark) {
  enter_queue();
  wait_for(marks_[size_t(mark)]);
}

// Of the GPU's work, without pauses between command buffers.
double MetalGpu::milliseconds(int from, int to) {
  return 1e3 * (queue_.worked(marks_[size_t(to)]) - queue_.worked(marks_[size_t(from)]));
}

void MetalGpu::forget_marks() {
  marks_.clear();
  queue_.forget_times();
}

}  // namespace quern::metal
