#include "cuda/cuda-gpu.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>

#include "cuda/gpu-facts.h"
#include "quern/failure.h"

namespace quern::cuda {

static Address address_of(const uint8_t* data) { return reinterpret_cast<Address>(data); }

// Whether a switch of docs/cuda.md is 0.
static bool is_off(const char* name) {
  const char* const chosen = getenv(name);
  return chosen && std::string(chosen) == "0";
}

static double wait_limit() {
  constexpr double usual = 30;
  const char* const chosen = getenv("QUERN_CUDA_WAIT");
  if (!chosen || !*chosen) return usual;
  const double seconds = strtod(chosen, nullptr);
  if (!(seconds > 0)) fail(Code::bad_argument, "QUERN_CUDA_WAIT=%s: it must be a number of seconds above 0", chosen);
  return seconds;
}

CudaGpu::CudaGpu(const Driver& driver, int index)
    : driver_(driver), facts_(facts_of(driver, index)), label_(text("cuda:%d (%s)", index, facts_.name.c_str())), process_(getpid()),
      wait_limit_(wait_limit()), takes_graphs_(!is_off("QUERN_CUDA_GRAPHS")),
      folds_norms_(!is_off("QUERN_CUDA_FOLDED_NORMS")) {
  if (!facts_.unusable.empty()) throw Failure(Code::unsupported, facts_.unusable);
  launches_depend_ = facts_.major >= 9 && driver_.has_dependent_launches() && !is_off("QUERN_CUDA_DEPENDENT");
  shared_ = SharedContext::of(driver_, facts_.device);
  const Inside inside(*this);
  driver_.need(driver_.stream_create(&stream_, stream_non_blocking), "making a stream");
  driver_.need(driver_.stream_create(&clearing_, stream_non_blocking), "making a stream");
}

// What is its own ends, the context with its last backend.
CudaGpu::~CudaGpu() {
  if (!may_free()) return;
  free_released();
  const Inside inside(*this);
  for (const Event event : events_) driver_.event_destroy(event);
  driver_.stream_destroy(stream_);
  driver_.stream_destroy(clearing_);
}

void CudaGpu::enter() const {
  if (getpid() != process_)
    fail(Code::device_failed, "this backend belongs to process %d: a forked process cannot use NVIDIA's driver; start a new process",
         int(process_));
  if (failed_) {
    const std::lock_guard lock(mutex_);
    fail(Code::device_failed,
         "%s has failed before (%s): dispose the backend or model and make a new one; if that fails too, start a new process",
         label_.c_str(), failure_.c_str());
  }
  need(driver_.context_set(shared_->context), "entering the device's context");
}

void CudaGpu::enter_queue() {
  if (busy_ && !failed_) return;
  enter();
  busy_ = true;
}

// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED to CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD.
static bool is_of_capture(Result result) { return result >= 900 && result <= 908; }

// Errors of one call, after which the context works on: invalid value or handle, no such function, too few resources, not supported; a
// capture that the driver gives up.
static bool leaves_context(Result result) {
  static constexpr Result single[] = {invalid_value, invalid_handle, not_found, too_many_resources, not_supported};
  return is_of_capture(result) || std::ranges::find(single, result) != std::end(single);
}

void CudaGpu::need(Result result, const char* act) const {
  if (result == 0) return;
  const std::string message = text("%s failed on %s: %s", act, label_.c_str(), driver_.described(result).c_str());
  if (result == out_of_memory) throw Failure(Code::out_of_memory, message);
  if (is_of_capture(result)) throw Failure(Code::device_failed, message + "; QUERN_CUDA_GRAPHS=0 works without captures");
  if (leaves_context(result)) throw Failure(Code::device_failed, message);
  fail_for_ever(message);
}

void CudaGpu::fail_for_ever(const std::string& message) const {
  {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = message, failed_ = true;
  }
  shared_->fail();
  throw Failure(Code::device_failed,
                message + "; this backend stays failed: start a new process; if that fails too, nvidia-smi and the kernel's log (Xid) say why");
}

uint64_t CudaGpu::free_memory() const {
  size_t free = 0, total = 0;
  enter();
  need(driver_.memory_info(&free, &total), "reading the free memory");
  return free;
}

uint8_t* CudaGpu::allocate(uint64_t bytes) {
  Address data = 0;
  enter();
  Result result = driver_.memory_allocate(&data, bytes);
  if (result == out_of_memory) {
    free_released();
    result = driver_.memory_allocate(&data, bytes);
  }
  if (result == out_of_memory)
    fail(Code::out_of_memory, "%s of memory were asked for (%llu bytes), but %s has %s free; nvidia-smi shows which processes have the rest",
         show_bytes(bytes).c_str(), static_cast<unsigned long long>(bytes), label_.c_str(), show_bytes(free_memory()).c_str());
  need(result, "allocating memory");
  return reinterpret_cast<uint8_t*>(data);
}

void CudaGpu::free_now(uint8_t* data) noexcept {
  const Inside inside(*this);
  driver_.memory_free(address_of(data));
}

// The driver's function waits for all work: while there is some, `finish` calls it.
void CudaGpu::free(uint8_t* data) noexcept {
  if (!may_free()) return;
  if (!busy_) return free_now(data);
  const std::lock_guard lock(mutex_);
  released_.push_back(data);
}

void CudaGpu::free_released() noexcept {
  std::vector<uint8_t*> released;
  {
    const std::lock_guard lock(mutex_);
    released.swap(released_);
  }
  for (uint8_t* const data : released) free_now(data);
}

// Refused where a limit of locked memory is reached, or memory is short: not an error.
uint8_t* CudaGpu::allocate_host(uint64_t bytes) {
  void* data = nullptr;
  enter();
  return driver_.host_allocate(&data, bytes, 0) == 0 ? static_cast<uint8_t*>(data) : nullptr;
}

void CudaGpu::free_host(uint8_t* data) noexcept {
  if (!may_free()) return;
  const Inside inside(*this);
  driver_.host_free(data);
}

void CudaGpu::clear(uint8_t* data, uint64_t bytes) {
  if (bytes == 0) return;
  enter();
  need(driver_.fill(address_of(data), 0, bytes, clearing_), "zeroing memory");
  wait_for([&] { return driver_.stream_query(clearing_); }, [] { return "zeroing memory"; });
}

void CudaGpu::fill(uint8_t* to, uint8_t value, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  behind_launch_ = false;
  need_queued(driver_.fill(address_of(to), value, bytes, stream_), "filling memory");
}

void CudaGpu::copy_in(uint8_t* to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  behind_launch_ = false;
  need_queued(driver_.copy_to_device(address_of(to), from, bytes, stream_), "copying to the device");
}

void CudaGpu::copy_out(void* to, const uint8_t* from, uint64_t bytes) {
  if (bytes == 0) return;
  enter_queue();
  behind_launch_ = false;
  need_queued(driver_.copy_to_host(to, address_of(from), bytes, stream_), "copying from the device");
}

gpu::TensorMap CudaGpu::tensor_map(const gpu::CopiedMatrix& matrix) const {
  constexpr unsigned rank = 2;
  const uint64_t sizes[] = {uint64_t(matrix.columns), uint64_t(matrix.rows)}, pitches[] = {uint64_t(matrix.pitch)};
  const uint32_t box[] = {64, uint32_t(matrix.box_rows)}, strides[] = {1, 1};
  gpu::TensorMap map;
  need(driver_.tensor_map(&map, tensor_bf16, rank, reinterpret_cast<Address>(matrix.values), sizes, pitches, box, strides, 0, swizzle_of_128_bytes,
                          promotion_to_128_bytes, 0),
       "making a tensor map");
  return map;
}

}  // namespace quern::cuda
