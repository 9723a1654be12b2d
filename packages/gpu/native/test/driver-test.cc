// The emulated driver does copies of pinned memory as late as hardware may: code that does not wait gets the wrong bytes.
#include <stdlib.h>
#include <string.h>

#include "dialect/host.h"
#include "test/check.h"

extern "C" {
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuCtxDestroy_v2(void* context);
int cuStreamCreate(void** stream, unsigned flags);
int cuStreamSynchronize(void* stream);
int cuStreamQuery(void* stream);
int cuMemGetInfo_v2(size_t* free, size_t* total);
int cuEventCreate(void** event, unsigned flags);
int cuEventDestroy_v2(void* event);
int cuEventRecord(void* event, void* stream);
int cuEventSynchronize(void* event);
int cuMemAlloc_v2(unsigned long long* data, size_t bytes);
int cuMemFree_v2(unsigned long long data);
int cuMemHostAlloc(void** data, size_t bytes, unsigned flags);
int cuMemFreeHost(void* data);
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream);
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream);
int cuModuleGetFunction(const void** function, void* module, const char* name);
int cuFuncSetAttribute(const void* function, int attribute, int value);
int cuLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra);
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream);
}

namespace quern::gpu {
namespace {

constexpr size_t bytes = 64;

// A context with a stream, memory of the device, and host memory with two buffers.
struct Session {
  Session() {
    cuCtxCreate_v2(&context, 0, 0);
    cuStreamCreate(&stream, 0);
    cuEventCreate(&event, 0);
    cuMemAlloc_v2(&data, 2 * bytes);
    cuMemHostAlloc(&pinned, 2 * bytes, 0);
    cuMemsetD8Async(data, 0, 2 * bytes, stream);
  }
  ~Session() {
    cuEventDestroy_v2(event);
    cuCtxDestroy_v2(context);
  }
  Session(const Session&) = delete;

  uint8_t* host(int buffer) const { return static_cast<uint8_t*>(pinned) + size_t(buffer) * bytes; }
  void put(int buffer, uint8_t value) const { memset(host(buffer), value, bytes); }
  void send(int buffer) const { cuMemcpyHtoDAsync_v2(data + size_t(buffer) * bytes, host(buffer), bytes, stream); }
  // The first byte of a buffer on the device, when all is done.
  int sent(int buffer) const {
    uint8_t value = 0;
    cuMemcpyDtoHAsync_v2(&value, data + size_t(buffer) * bytes, 1, stream);
    return value;
  }

  void *context = nullptr, *stream = nullptr, *event = nullptr, *pinned = nullptr;
  unsigned long long data = 0;
};

void pinned_memory_is_read_late() {
  const Session now;
  now.put(0, 1), now.send(0), now.put(0, 2);
  check(now.sent(0) == 2, "pinned memory that is overwritten before anyone waits: got %d", now.sent(0));
  now.put(0, 3), now.send(0);
  cuStreamSynchronize(now.stream);
  now.put(0, 4);
  check(now.sent(0) == 3, "overwritten after waiting: got %d", now.sent(0));
}

void an_event_waits_for_what_is_before_it() {
  const Session now;
  now.put(0, 1), now.send(0);
  cuEventRecord(now.event, now.stream);
  now.put(1, 1), now.send(1);
  cuEventSynchronize(now.event);
  now.put(0, 2), now.put(1, 2);
  check(now.sent(0) == 1 && now.sent(1) == 2, "got %d and %d", now.sent(0), now.sent(1));
}

void pageable_memory_is_read_at_once() {
  const Session now;
  uint8_t pageable[bytes] = {1};
  now.put(0, 7), now.send(0);  // the queue waits
  cuMemcpyHtoDAsync_v2(now.data + bytes, pageable, bytes, now.stream);
  pageable[0] = 2;
  check(now.sent(1) == 1, "pageable memory behind a copy that waits: got %d", now.sent(1));
}

void order_is_kept() {
  const Session now;
  now.put(0, 1), now.send(0);
  cuMemsetD8Async(now.data, 9, bytes, now.stream);
  check(now.sent(0) == 9, "a fill behind a copy: got %d", now.sent(0));
}

void results_come_late() {
  const Session now;
  cuMemsetD8Async(now.data, 5, bytes, now.stream);
  now.put(0, 0);
  cuMemcpyDtoHAsync_v2(now.host(0), now.data, bytes, now.stream);
  check(now.host(0)[0] == 0, "a copy into pinned memory is there before anyone waits");
  cuStreamSynchronize(now.stream);
  check(now.host(0)[0] == 5, "got %d", now.host(0)[0]);
}

void freeing_waits_or_fails() {
  const Session now;
  now.put(0, 1), now.send(0);
  check(cuMemFree_v2(now.data) == 0 && cuStreamSynchronize(now.stream) == 0, "memory of the device: freed after its copies");
  const Session other;
  other.put(0, 1), other.send(0);
  cuMemFreeHost(other.pinned);
  check(cuStreamSynchronize(other.stream) != 0, "pinned memory that is freed before its copy is done");
}

struct Nothing {};
KERNEL(takes_much, Nothing) {
  LARGE_SHARED(float, held, 20000);
  held[thread_index()] = 1;
}

void much_shared_memory_is_asked_for() {
  constexpr int attribute = 8, most = 227 << 10, invalid = 1, failed = 719;
  const Session now;
  const void* function = nullptr;
  cuModuleGetFunction(&function, nullptr, "takes_much");
  Nothing args;
  void* argument = &args;
  const auto launched = [&](unsigned bytes) { return cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, bytes, now.stream, &argument, nullptr); };
  check(launched(80000) == invalid, "more than 48 KiB, not asked for");
  check(cuFuncSetAttribute(function, attribute, most + 1) == invalid, "more than there is");
  check(cuFuncSetAttribute(function, attribute, 80000) == 0 && launched(80000) == 0, "more than 48 KiB, asked for");
  check(launched(80004) == invalid, "more than was asked for");
  check(launched(79996) == failed, "less than the array has");
}

// 1024 threads have 64 registers each; this kernel needs more.
void registers_are_counted() {
  constexpr int too_many_resources = 701;
  const Session now;
  const void* function = nullptr;
  cuModuleGetFunction(&function, nullptr, "gate_up_few_8_f32");
  uint8_t args[4096] = {};  // no columns
  void* argument = args;
  const auto launched = [&](unsigned threads) { return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, now.stream, &argument, nullptr); };
  check(launched(1024) == too_many_resources, "more registers than a processor has");
  check(launched(128) == 0, "as many registers as fit");
}

constexpr int not_ready = 600, unknown = 999;

void a_query_is_answered_when_it_comes_again() {
  const Session now;
  now.put(0, 1), now.send(0);
  check(cuStreamQuery(now.stream) == not_ready, "a copy is done when it is asked for once");
  now.put(0, 2);
  check(cuStreamQuery(now.stream) == 0, "a copy is not done when it is asked for again");
  now.put(0, 3);
  check(now.sent(0) == 2, "got %d", now.sent(0));
}

// What hangs is never freed: the functions would not return.
void a_hang_has_no_end() {
  const Session& now = *new Session;
  setenv("QUERN_EMULATED_HANGS", "mems*", 1);
  cuMemsetD8Async(now.data, 1, bytes, now.stream);
  unsetenv("QUERN_EMULATED_HANGS");
  cuMemsetD8Async(now.data, 2, bytes, now.stream);
  for (int i = 0; i < 3; i++) check(cuStreamQuery(now.stream) == not_ready, "work that hangs, or what is behind it, is done");
  const Session other;
  check(cuStreamSynchronize(other.stream) == 0, "another context hangs too");
}

struct One {
  Global<float> y;
};
KERNEL(writes_one, One) { args.y[thread_index()] = 1; }

void a_lost_device_fails_all_calls() {
  const Session now;
  const void* function = nullptr;
  cuModuleGetFunction(&function, nullptr, "writes_one");
  One args{Global(reinterpret_cast<float*>(now.data))};
  void* argument = &args;
  const auto launched = [&] { return cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, now.stream, &argument, nullptr); };
  size_t free = 0, total = 0;
  setenv("QUERN_EMULATED_LOST", "2", 1);
  check(launched() == 0 && launched() == 0, "the launches before");
  check(launched() == unknown && cuStreamQuery(now.stream) == unknown && cuMemGetInfo_v2(&free, &total) == unknown, "calls after");
  unsetenv("QUERN_EMULATED_LOST");
  check(cuMemGetInfo_v2(&free, &total) == 0 && launched() == 0, "the setting has gone");
}

}  // namespace
}  // namespace quern::gpu

int main() {
  using namespace quern::gpu;
  pinned_memory_is_read_late();
  an_event_waits_for_what_is_before_it();
  pageable_memory_is_read_at_once();
  order_is_kept();
  results_come_late();
  freeing_waits_or_fails();
  much_shared_memory_is_asked_for();
  registers_are_counted();
  a_query_is_answered_when_it_comes_again();
  a_hang_has_no_end();
  a_lost_device_fails_all_calls();
  return report("copies of the emulated driver");
}
