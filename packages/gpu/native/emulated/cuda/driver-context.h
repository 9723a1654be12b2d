// What the emulated driver's functions share: the device, and the context of the calling thread.
#pragma once
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "emulated/setting.h"
#include "emulated/fault.h"
#include "emulated/memory.h"
#include "emulated/stream.h"
#include "gpu/cuda-api.h"

namespace quern::gpu {

using namespace cuda::api;

struct Device {
  Memory memory{setting("QUERN_EMULATED_MEMORY", 4096) << 20};
  PinnedMemory pinned;
  uint64_t seed = setting("QUERN_EMULATED_SEED", 1);
  std::mutex mutex;  // one command at a time
  std::atomic<uint64_t> launches{0};

  std::map<const void*, unsigned> shared_bytes;  // of functions that may have more than others
  unsigned shared_bytes_of(const void* function) {
    const std::lock_guard lock(mutex);
    const auto found = shared_bytes.find(function);
    return found == shared_bytes.end() ? 48 << 10 : found->second;
  }

  // Bytes that other processes leave.
  uint64_t free_bytes() const {
    const uint64_t free = memory.free_bytes(), taken = setting("QUERN_EMULATED_TAKEN", 0) << 20;
    return free > taken ? free - taken : 0;
  }
};

inline Device& device() {
  static Device& device = *new Device; // threads may use it while the process exits
  device_memory() = &device.memory;
  return device;
}

// As a device that fell off the bus: every call fails, after this number of launches since the setting was made.
inline bool is_lost() {
  const uint64_t most = setting("QUERN_EMULATED_LOST", 0);
  if (most == 0) device().launches = 0;
  return most > 0 && device().launches >= most;
}

// The host waits for all work of a stream: for ever if a kernel hangs.
inline void need_end(const Stream& stream) {
  while (stream.hangs()) sleep(1);
}

struct Context {
  std::string fault;  // of the launch that failed
  std::vector<std::unique_ptr<Stream>> streams;
  std::set<uint8_t*> allocations;
  std::set<void*> pinned;
};
inline thread_local Context* current = nullptr;
inline thread_local std::vector<Context*> contexts_below;  // of the thread's stack

// Runs a command in the current context; a Fault ends the context.
template <class F>
Result command(const F& act) {
  if (!current) return invalid_context;
  Device& on = device();
  const std::lock_guard lock(on.mutex);
  if (is_lost()) return unknown;
  if (!current->fault.empty()) return launch_failed;
  try {
    return act(on);
  } catch (const Fault& fault) {
    current->fault = fault.what();
    return launch_failed;
  }
}

}  // namespace quern::gpu

#define EXPORT extern "C" __attribute__((visibility("default"))) quern::gpu::Result
