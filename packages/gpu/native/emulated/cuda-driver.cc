// The functions of NVIDIA's driver that backend-cuda calls, on the emulated device: built as a library, named by
// QUERN_CUDA_LIBRARY. Work is done at the call; copies and launches are therefore in order. After a fault every call fails, as
// on hardware, and the fault's message is the error's text.
//
// QUERN_EMULATED_MEMORY: megabytes (4096). QUERN_EMULATED_SEED: order of threads (1). QUERN_EMULATED_COMPUTE: capability (90).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <mutex>
#include <string>

#include "emulated/fault.h"
#include "emulated/kernel.h"
#include "emulated/memory.h"

namespace {

using namespace quern::gpu;

using Result = int;
constexpr Result success = 0, invalid_value = 1, no_memory = 2, not_found = 500, launch_failed = 719;

uint64_t setting(const char* name, uint64_t usual) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, nullptr, 10) : usual;
}

struct Device {
  Memory memory{setting("QUERN_EMULATED_MEMORY", 4096) << 20};
  uint64_t seed = setting("QUERN_EMULATED_SEED", 1);
  std::mutex mutex;   // one command at a time
  std::string fault;  // of the launch that failed
};

Device& device() {
  static Device device;
  device_memory() = &device.memory;
  return device;
}

// Runs a command; a Fault ends the device.
template <class F>
Result command(const F& act) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  if (!on.fault.empty()) return launch_failed;
  try {
    return act(on);
  } catch (const Fault& fault) {
    on.fault = fault.what();
    return launch_failed;
  }
}

using Clock = std::chrono::steady_clock;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

EXPORT cuInit(unsigned) { return success; }
EXPORT cuDriverGetVersion(int* version) { return *version = 13000, success; }
EXPORT cuDeviceGetCount(int* count) { return *count = 1, success; }
EXPORT cuDeviceGet(int* index, int ordinal) { return *index = ordinal, ordinal == 0 ? success : invalid_value; }
EXPORT cuDeviceGetName(char* name, int length, int) { return snprintf(name, size_t(length), "emulated GPU"), success; }
EXPORT cuDevicePrimaryCtxRetain(void** context, int) { return *context = &device(), success; }
EXPORT cuDevicePrimaryCtxRelease_v2(int) { return success; }
EXPORT cuCtxSetCurrent(void*) { return success; }
EXPORT cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = device().memory.bytes(), success; }
EXPORT cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = device().memory.free_bytes(), *total = device().memory.bytes(), success;
}

EXPORT cuDeviceGetAttribute(int* value, int attribute, int) {
  const int compute = int(setting("QUERN_EMULATED_COMPUTE", 90));
  switch (attribute) {
    case 16: return *value = 1, success;  // multiprocessors
    case 75: return *value = compute / 10, success;
    case 76: return *value = compute % 10, success;
    default: return invalid_value;
  }
}

EXPORT cuGetErrorName(Result error, const char** text) {
  switch (error) {
    case success: return *text = "CUDA_SUCCESS", success;
    case invalid_value: return *text = "CUDA_ERROR_INVALID_VALUE", success;
    case no_memory: return *text = "CUDA_ERROR_OUT_OF_MEMORY", success;
    case not_found: return *text = "CUDA_ERROR_NOT_FOUND", success;
    case launch_failed: return *text = "CUDA_ERROR_LAUNCH_FAILED", success;
    default: return invalid_value;
  }
}
EXPORT cuGetErrorString(Result error, const char** text) {
  *text = error == launch_failed ? device().fault.c_str() : "on the emulated device";
  return success;
}

EXPORT cuMemAlloc_v2(unsigned long long* data, size_t bytes) {
  return command([&](Device& on) {
    *data = reinterpret_cast<unsigned long long>(on.memory.allocate(bytes));
    return *data ? success : no_memory;
  });
}
EXPORT cuMemFree_v2(unsigned long long data) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  return on.memory.free(reinterpret_cast<uint8_t*>(data)) ? success : invalid_value;
}
EXPORT cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  return (*data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)) ? success : no_memory;
}
EXPORT cuMemFreeHost(void* data) { return free(data), success; }
EXPORT cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void*) {
  return command([&](Device& on) { return on.memory.write(reinterpret_cast<uint8_t*>(to), from, bytes), success; });
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void*) {
  return command([&](Device& on) { return on.memory.read(to, reinterpret_cast<const uint8_t*>(from), bytes), success; });
}
EXPORT cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void*) {
  return command([&](Device& on) { return on.memory.fill(reinterpret_cast<uint8_t*>(to), value, bytes), success; });
}

EXPORT cuStreamCreate(void** stream, unsigned) { return *stream = &device(), success; }
EXPORT cuStreamDestroy_v2(void*) { return success; }
EXPORT cuStreamSynchronize(void*) { return device().fault.empty() ? success : launch_failed; }

EXPORT cuEventCreate(void** event, unsigned) { return *event = new Clock::time_point, success; }
EXPORT cuEventDestroy_v2(void* event) { return delete static_cast<Clock::time_point*>(event), success; }
EXPORT cuEventRecord(void* event, void*) { return *static_cast<Clock::time_point*>(event) = Clock::now(), success; }
EXPORT cuEventElapsedTime(float* milliseconds, void* start, void* end) {
  const auto elapsed = *static_cast<Clock::time_point*>(end) - *static_cast<Clock::time_point*>(start);
  return *milliseconds = std::chrono::duration<float, std::milli>(elapsed).count(), success;
}

EXPORT cuModuleLoadData(void** module, const void*) { return *module = &device(), success; }
EXPORT cuModuleUnload(void*) { return success; }
EXPORT cuModuleGetFunction(const void** function, void*, const char* name) {
  return (*function = find_kernel(name)) ? success : not_found;
}

EXPORT cuLaunchKernel(const void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, void*, void** arguments, void**) {
  if (grid_y * grid_z * block_y * block_z != 1 || shared_bytes != 0) return invalid_value;
  return command([&](Device& on) {
    launch(*static_cast<const Kernel*>(function), int(grid_x), int(block_x), arguments[0], on.seed++);
    return success;
  });
}
