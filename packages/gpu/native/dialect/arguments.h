// The vocabulary for code of the host that launches kernels: it needs their arguments. Kernels are parsed and never made.
#pragma once
#include <stdint.h>

#define DEVICE_MEMORY
#define BLOCK_MEMORY
#define KERNEL(name, Args) \
  template <class>         \
  void name##_kernel([[maybe_unused]] const Args& args)
#define FUNCTION inline
#define CONSTANT constexpr
#define ARGUMENTS
#define THREAD
#define UNROLL
#define SHARED(T, name, count) T name[count]
#define LARGE_SHARED(T, name, count) T name[count]

namespace quern {
namespace gpu {

struct alignas(16) Float4 {
  float values[4];
  float& operator[](int i) { return values[i]; }
  float operator[](int i) const { return values[i]; }
};
struct alignas(16) Uint4 {
  unsigned values[4];
  unsigned& operator[](int i) { return values[i]; }
  unsigned operator[](int i) const { return values[i]; }
};

} // namespace gpu
} // namespace quern

#include "declared.h"
