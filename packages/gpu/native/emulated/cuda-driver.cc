// The functions of NVIDIA's driver that backend-cuda calls, on the emulated device: built as a library, named by
// QUERN_CUDA_LIBRARY. Work is done at the call; copies and launches are therefore in order. After a fault every call in its
// context fails, as on hardware, and the fault's message is the error's text.
//
// QUERN_EMULATED_MEMORY: megabytes (4096). QUERN_EMULATED_SEED: order of threads (1). Read at each use, for tests:
// QUERN_EMULATED_COMPUTE: capability (90). QUERN_EMULATED_DEVICES: number (1). QUERN_EMULATED_DRIVER: version (13000).
// QUERN_EMULATED_FAILS: a kernel whose launches fail. QUERN_EMULATED_TAKEN: megabytes that another process has (0).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emulated/fault.h"
#include "emulated/kernel.h"
#include "emulated/memory.h"

namespace {

using namespace quern::gpu;

using Result = int;
constexpr Result success = 0, invalid_value = 1, no_memory = 2, no_device = 100, invalid_device = 101, invalid_context = 201, not_found = 500, launch_failed = 719;

uint64_t setting(const char* name, uint64_t usual) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, nullptr, 10) : usual;
}

struct Device {
  Memory memory{setting("QUERN_EMULATED_MEMORY", 4096) << 20};
  uint64_t seed = setting("QUERN_EMULATED_SEED", 1);
  std::mutex mutex;  // one command at a time

  // Bytes that other processes leave.
  uint64_t free_bytes() const {
    const uint64_t free = memory.free_bytes(), taken = setting("QUERN_EMULATED_TAKEN", 0) << 20;
    return free > taken ? free - taken : 0;
  }
};

Device& device() {
  static Device device;
  device_memory() = &device.memory;
  return device;
}

using Commands = std::vector<std::function<void(Device&)>>;

struct Stream {
  std::unique_ptr<Commands> captured;  // while it is captured
};

struct Context {
  std::string fault;  // of the launch that failed
  std::vector<std::unique_ptr<Stream>> streams;
  std::set<uint8_t*> allocations;
};
thread_local Context* current = nullptr;

// Runs a command in the current context; a Fault ends the context.
template <class F>
Result command(const F& act) {
  if (!current) return invalid_context;
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  if (!current->fault.empty()) return launch_failed;
  try {
    return act(on);
  } catch (const Fault& fault) {
    current->fault = fault.what();
    return launch_failed;
  }
}

// A command that a capture keeps instead.
Result queue(void* stream, std::function<void(Device&)> act) {
  if (auto& captured = static_cast<Stream*>(stream)->captured) return captured->push_back(std::move(act)), success;
  return command([&](Device& on) { return act(on), success; });
}

using Clock = std::chrono::steady_clock;

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default"))) Result

EXPORT cuInit(unsigned) { return setting("QUERN_EMULATED_DEVICES", 1) == 0 ? no_device : success; }
EXPORT cuDriverGetVersion(int* version) { return *version = int(setting("QUERN_EMULATED_DRIVER", 13000)), success; }
EXPORT cuDeviceGetCount(int* count) { return *count = int(setting("QUERN_EMULATED_DEVICES", 1)), success; }
EXPORT cuDeviceGet(int* index, int ordinal) {
  int count = 0;
  cuDeviceGetCount(&count);
  return *index = ordinal, ordinal >= 0 && ordinal < count ? success : invalid_device;
}
EXPORT cuDeviceGetName(char* name, int length, int) { return snprintf(name, size_t(length), "emulated GPU"), success; }
EXPORT cuCtxCreate_v2(void** context, unsigned, int) { return *context = current = new Context, success; }
EXPORT cuCtxDestroy_v2(void* context) {
  auto* const ended = static_cast<Context*>(context);
  const std::lock_guard lock(device().mutex);
  for (uint8_t* const data : ended->allocations) device().memory.free(data);
  if (current == ended) current = nullptr;
  delete ended;
  return success;
}
EXPORT cuCtxSetCurrent(void* context) { return current = static_cast<Context*>(context), success; }
EXPORT cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = device().memory.bytes(), success; }
EXPORT cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = device().free_bytes(), *total = device().memory.bytes(), success;
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
    case invalid_device: return *text = "CUDA_ERROR_INVALID_DEVICE", success;
    case invalid_context: return *text = "CUDA_ERROR_INVALID_CONTEXT", success;
    case not_found: return *text = "CUDA_ERROR_NOT_FOUND", success;
    case launch_failed: return *text = "CUDA_ERROR_LAUNCH_FAILED", success;
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
    return *data = reinterpret_cast<unsigned long long>(memory), memory ? success : no_memory;
  });
}
EXPORT cuMemFree_v2(unsigned long long data) {
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  if (!current) return invalid_context;
  current->allocations.erase(reinterpret_cast<uint8_t*>(data));
  return on.memory.free(reinterpret_cast<uint8_t*>(data)) ? success : invalid_value;
}
EXPORT cuMemHostAlloc(void** data, size_t bytes, unsigned) {
  return (*data = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096)) ? success : no_memory;
}
EXPORT cuMemFreeHost(void* data) { return free(data), success; }
EXPORT cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, size_t bytes, void* stream) {
  return queue(stream, [=](Device& on) { on.memory.write(reinterpret_cast<uint8_t*>(to), from, bytes); });
}
EXPORT cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, size_t bytes, void* stream) {
  return queue(stream, [=](Device& on) { on.memory.read(to, reinterpret_cast<const uint8_t*>(from), bytes); });
}
EXPORT cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void* stream) {
  return queue(stream, [=](Device& on) { on.memory.fill(reinterpret_cast<uint8_t*>(to), value, bytes); });
}

EXPORT cuStreamCreate(void** stream, unsigned) {
  if (!current) return invalid_context;
  current->streams.push_back(std::make_unique<Stream>());
  return *stream = current->streams.back().get(), success;
}
EXPORT cuStreamSynchronize(void* stream) {
  if (static_cast<Stream*>(stream)->captured) return invalid_value;
  return command([](Device&) { return success; });
}

EXPORT cuEventCreate(void** event, unsigned) { return *event = new Clock::time_point, success; }
EXPORT cuEventDestroy_v2(void* event) { return delete static_cast<Clock::time_point*>(event), success; }
EXPORT cuEventRecord(void* event, void*) { return *static_cast<Clock::time_point*>(event) = Clock::now(), success; }
EXPORT cuEventSynchronize(void*) {
  return command([](Device&) { return success; });
}
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
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void**) {
  if (grid_y * grid_z * block_y * block_z != 1 || shared_bytes != 0) return invalid_value;
  const Kernel& kernel = *static_cast<const Kernel*>(function);
  const auto* const args = static_cast<const uint8_t*>(arguments[0]);
  return queue(stream, [&kernel, grid_x, block_x, args = std::vector<uint8_t>(args, args + kernel.args_bytes)](Device& on) {
    if (const char* fails = getenv("QUERN_EMULATED_FAILS"); fails && std::string(fails) == kernel.name)
      fault("%s: a planted failure", kernel.name);
    launch(kernel, int(grid_x), int(block_x), args.data(), on.seed++);
  });
}

EXPORT cuStreamBeginCapture_v2(void* stream, int) {
  auto& captured = static_cast<Stream*>(stream)->captured;
  return captured ? invalid_value : (captured = std::make_unique<Commands>(), success);
}
EXPORT cuStreamEndCapture(void* stream, void** graph) {
  auto& captured = static_cast<Stream*>(stream)->captured;
  return captured ? (*graph = captured.release(), success) : invalid_value;
}
EXPORT cuGraphInstantiateWithFlags(void** exec, void* graph, unsigned long long) {
  return *exec = new Commands(*static_cast<Commands*>(graph)), success;
}
EXPORT cuGraphDestroy(void* graph) { return delete static_cast<Commands*>(graph), success; }
EXPORT cuGraphExecDestroy(void* exec) { return delete static_cast<Commands*>(exec), success; }
EXPORT cuGraphLaunch(void* exec, void*) {
  return command([&](Device& on) {
    for (const auto& act : *static_cast<Commands*>(exec)) act(on);
    return success;
  });
}
