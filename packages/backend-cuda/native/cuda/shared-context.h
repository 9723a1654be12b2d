// A context of the driver with the kernels, for all backends of a device in this process: a context takes half a gigabyte of the device
// and tenths of a second. A failure ends it: backends made later get a new one. It ends with its last backend.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <memory>

#include "cuda/driver.h"

namespace quern::cuda {

class SharedContext {
 public:
  // Throws UNSUPPORTED where the addon has no kernels, OUT_OF_MEMORY, DEVICE_FAILED.
  static std::shared_ptr<SharedContext> of(const Driver& driver, DeviceIndex device);

  SharedContext(const Driver& driver, DeviceIndex device);
  ~SharedContext();
  SharedContext(const SharedContext&) = delete;
  SharedContext& operator=(const SharedContext&) = delete;

  // For no further backend.
  void fail() { failed_ = true; }
  // Work in it may never end: the driver's functions would wait for it.
  void keep() { kept_ = true; }

  Context context = nullptr;
  Module module = nullptr;

 private:
  bool serves() const { return !failed_ && getpid() == process_; }

  const Driver& driver_;
  const pid_t process_;
  std::atomic<bool> failed_{false}, kept_{false};
};

} // namespace quern::cuda
