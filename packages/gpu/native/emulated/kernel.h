// The kernels of this program, and their launch.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include <string>

namespace quern::gpu {

struct Kernel {
  const char* name;
  size_t args_bytes;
  int most_threads; // of a block
  void (*call)(const void* args);
};

// Adds a kernel to those of the program; names are unique.
struct Registration {
  explicit Registration(const Kernel& kernel);
};

// Null: no kernel has this name.
const Kernel* find_kernel(const std::string& name);

// dependent: it may begin before the launch ahead of it is done (programmatic dependent launch).
enum class Begin { after_all, dependent };

// Runs all blocks, one after another in an order drawn from `seed`. shared_bytes: of the kernel's LARGE_SHARED. Throws Fault.
void launch(const Kernel& kernel, int blocks, int threads, const void* args, uint64_t seed, size_t shared_bytes = 0,
            Begin begin = Begin::after_all);
// Something between launches has waited for all before it: a copy, a fill, a graph's end.
void launches_done();

} // namespace quern::gpu
