// A matrix in device memory as copies of tensors see it (CUtensorMap of the driver API): made by the driver on the host, a member of a
// kernel's arguments.
#pragma once
#include <stdint.h>

namespace quern {
namespace gpu {

struct alignas(128) TensorMap {
  uint64_t words[16];
};

} // namespace gpu
} // namespace quern
