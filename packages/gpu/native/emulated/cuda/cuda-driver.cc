// The functions of NVIDIA's driver that backend-cuda calls, on the emulated device: built as a library, named by
// QUERN_CUDA_LIBRARY. Work is done at the call, or from a copy of pinned memory on when it is waited for (stream.h). After a
// fault every call in its context fails, as on hardware, and the fault's message is the error's text.
//
// QUERN_EMULATED_MEMORY: megabytes (4096). QUERN_EMULATED_SEED: order of threads (1). Read at each use, for tests:
// QUERN_EMULATED_COMPUTE: capability (90). QUERN_EMULATED_PROCESSORS: of a device (1). QUERN_EMULATED_DEVICES: number (1).
// QUERN_EMULATED_DRIVER: version (13000).
// QUERN_EMULATED_FAILS: a kernel whose launches fail; QUERN_EMULATED_HANGS: one whose launches never end, or memset
// (a name, or its start and *).
// QUERN_EMULATED_LOST: the launches after which the device is lost (0: it stays). QUERN_EMULATED_INIT: the error of cuInit (0).
// QUERN_EMULATED_CAPTURES: 0 makes captures invalid (1). QUERN_EMULATED_TAKEN: megabytes that another process has (0).
// QUERN_EMULATED_WAITS: a file that gets a byte whenever the host waits until a stream has no work left.
// QUERN_EMULATED_LAUNCHES: a file that gets the name of each kernel that runs. QUERN_EMULATED_COUNTS: a file that gets the accesses of
// each launch (counts.h).
// QUERN_EMULATED_GRAPHS, QUERN_EMULATED_CAPTURED: files that get a byte for each graph that is launched, or made.
// QUERN_EMULATED_PINNED: megabytes that may be pinned (1024). QUERN_EMULATED_CUTS, QUERN_EMULATED_TOUCHES: a file that copies to
// the device cut to one page, or give the time of now. QUERN_EMULATED_UUID: number of the first device (0: it has none).
#include <stdio.h>
#include <string.h>

#include "emulated/cuda/driver-context.h"
#include "emulated/kernel.h"

using namespace quern::gpu;

EXPORT cuInit(unsigned) {
  return setting("QUERN_EMULATED_DEVICES", 1) == 0 ? no_device : Result(setting("QUERN_EMULATED_INIT", success));
}
EXPORT cuDriverGetVersion(int* version) { return *version = int(setting("QUERN_EMULATED_DRIVER", 13000)), success; }
EXPORT cuDeviceGetCount(int* count) { return *count = int(setting("QUERN_EMULATED_DEVICES", 1)), success; }
EXPORT cuDeviceGet(int* index, int ordinal) {
  int count = 0;
  cuDeviceGetCount(&count);
  return *index = ordinal, ordinal >= 0 && ordinal < count ? success : invalid_device;
}
EXPORT cuDeviceGetName(char* name, int length, int) { return snprintf(name, size_t(length), "emulated GPU"), success; }
EXPORT cuDeviceGetUuid_v2(char* uuid, int index) {
  const uint64_t first = setting("QUERN_EMULATED_UUID", 0), own = first > 0 ? first + uint64_t(index) : 0;
  return memset(uuid, 0, 16), memcpy(uuid, &own, sizeof own), success;
}
EXPORT cuCtxPushCurrent_v2(void* context) {
  contexts_below.push_back(current);
  return current = static_cast<Context*>(context), success;
}
EXPORT cuCtxPopCurrent_v2(void** context) {
  if (contexts_below.empty()) return invalid_context;
  *context = current, current = contexts_below.back();
  return contexts_below.pop_back(), success;
}
EXPORT cuCtxCreate_v2(void** context, unsigned, int) {
  return is_lost() ? unknown : cuCtxPushCurrent_v2(*context = new Context);
}
EXPORT cuCtxDestroy_v2(void* context) {
  auto* const ended = static_cast<Context*>(context);
  for (const auto& stream : ended->streams) need_end(*stream);
  const std::lock_guard lock(device().mutex);
  for (uint8_t* const data : ended->allocations) device().memory.free(data);
  for (void* const data : ended->pinned) device().pinned.free(data);
  if (current == ended) current = nullptr;
  delete ended;
  return success;
}
EXPORT cuCtxSetCurrent(void* context) { return current = static_cast<Context*>(context), success; }
EXPORT cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = device().memory.bytes(), success; }
EXPORT cuMemGetInfo_v2(size_t* free, size_t* total) {
  if (is_lost()) return unknown;
  return *free = device().free_bytes(), *total = device().memory.bytes(), success;
}

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
static int most_shared_bytes() {
  switch (setting("QUERN_EMULATED_COMPUTE", 90)) {
    case 80: case 87: return 163 << 10;
    case 86: case 89: case 120: case 121: return 99 << 10;
    default: return 227 << 10;
  }
}

EXPORT cuDeviceGetAttribute(int* value, int attribute, int) {
  const int compute = int(setting("QUERN_EMULATED_COMPUTE", 90));
  switch (attribute) {
    case clock_rate: return *value = 1'980'000, success;  // this and the next two as of an H100
    case memory_clock: return *value = 2'619'000, success;
    case memory_width: return *value = 5120, success;
    case multiprocessors: return *value = int(setting("QUERN_EMULATED_PROCESSORS", 1)), success;
    case second_cache: return *value = 50 << 20, success;
    case compute_major: return *value = compute / 10, success;
    case compute_minor: return *value = compute % 10, success;
    case shared_memory_opt_in: return *value = most_shared_bytes(), success;
    default: return invalid_value;
  }
}

// A context has its own functions on hardware; here all share them.
EXPORT cuFuncSetAttribute(const void* function, int attribute, int value) {
  if (attribute != max_dynamic_shared_bytes || value < 0 || value > most_shared_bytes()) return invalid_value;
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  return on.shared_bytes[function] = unsigned(value), success;
}

EXPORT cuGetErrorName(Result error, const char** text) {
  switch (error) {
    case success: return *text = "CUDA_SUCCESS", success;
    case invalid_value: return *text = "CUDA_ERROR_INVALID_VALUE", success;
    case out_of_memory: return *text = "CUDA_ERROR_OUT_OF_MEMORY", success;
    case invalid_device: return *text = "CUDA_ERROR_INVALID_DEVICE", success;
    case invalid_context: return *text = "CUDA_ERROR_INVALID_CONTEXT", success;
    case not_found: return *text = "CUDA_ERROR_NOT_FOUND", success;
    case not_ready: return *text = "CUDA_ERROR_NOT_READY", success;
    case too_many_resources: return *text = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", success;
    case launch_failed: return *text = "CUDA_ERROR_LAUNCH_FAILED", success;
    case driver_mismatch: return *text = "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", success;
    case capture_invalidated: return *text = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", success;
    case unknown: return *text = "CUDA_ERROR_UNKNOWN", success;
    default: return invalid_value;
  }
}
EXPORT cuGetErrorString(Result error, const char** text) {
  *text = error == launch_failed && current ? current->fault.c_str() : "on the emulated device";
  return success;
}

EXPORT cuMemAlloc_v2(unsigned long long* data, size_t bytes) {
  return command([&](Device& on) {
    uint8_t* const memory = bytes <= on.free_bytes() ? on.memory.allocate(bytes) : nullptr;
    if (memory) current->allocations.insert(memory);
    return *data = reinterpret_cast<unsigned long long>(memory), memory ? success : out_of_memory;
  });
}
// Waits for all work, as hardware does.
EXPORT cuMemFree_v2(unsigned long long data) {
  if (!current) return invalid_context;
  for (const auto& stream : current->streams) need_end(*stream);
  auto* const freed = reinterpret_cast<uint8_t*>(data);
  command([](Device&) {
    for (const auto& stream : current->streams) stream->run(stream->end());
    return success;
  });
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  current->allocations.erase(freed);
  return on.memory.free(freed) ? success : invalid_value;
}
EXPORT cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  return command([&](Device& on) {
    *data = on.pinned.allocate(bytes, setting("QUERN_EMULATED_PINNED", 1024) << 20);
    return *data ? (current->pinned.insert(*data), success) : out_of_memory;
  });
}
EXPORT cuMemFreeHost(void* data) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  if (!current) return invalid_context;
  current->pinned.erase(data);
  return on.pinned.free(data) ? success : invalid_value;
}

EXPORT cuModuleLoadData(void** module, const void*) { return *module = &device(), success; }
EXPORT cuModuleUnload(void*) { return success; }
EXPORT cuModuleGetFunction(const void** function, void*, const char* name) {
  return (*function = find_kernel(name)) ? success : not_found;
}
