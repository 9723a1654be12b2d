// The main function of a test of kernels.
#pragma once
#include "dialect/host.h"
#include "test/check.h"

namespace quern::gpu {

// Runs all checks of a test, with `bytes` of device memory. The exit status.
template <class F>
int run_test(const char* name, const F& run, size_t bytes = 64 << 20) {
  Memory memory(bytes);
  device_memory() = &memory;
  run();
  return report(name);
}

} // namespace quern::gpu
