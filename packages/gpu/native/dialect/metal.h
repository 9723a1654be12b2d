// The vocabulary by Metal's rules, for clang in C++14: pointers to device and shared memory have address spaces, and there is no
// double. It is compiled, not run.
#pragma once

#define DEVICE_MEMORY __attribute__((address_space(1)))
#define BLOCK_MEMORY __attribute__((address_space(3)))
#define KERNEL(name, Args) void name(const Args args) // Metal: copied from its constant memory
#define FUNCTION inline
#define UNROLL _Pragma("unroll")
#define SHARED(T, name, count) static BLOCK_MEMORY T name[count]

#define double poisoned_by_the_rules_of_metal

namespace quern {
namespace gpu {

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef unsigned Uint4 __attribute__((ext_vector_type(4)));

} // namespace gpu
} // namespace quern

#include "declared.h"
