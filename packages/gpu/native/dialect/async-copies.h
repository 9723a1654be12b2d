// Asynchronous copies that only NVIDIA's GPUs have. The emulated device does them when they are waited for.
#pragma once
#include "dialect.h"

namespace quern {
namespace gpu {

#if defined(__CUDACC__)

// 16 bytes to shared memory, past the first cache; zeros unless `there`: nothing is read then (PTX ISA, cp.async, src-size). The
// second cache loads 128 bytes.
FUNCTION void copy_or_zero(Shared<Uint4> to, Global<const Uint4> from, bool there) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(unsigned(__cvta_generic_to_shared(to))), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}

#elif !defined(QUERN_KERNEL_ARGUMENTS)

inline void copy_or_zero(const Shared<Uint4>& to, Global<const Uint4> from, bool there) {
  to.expect(0);
  if (there && !Block::current().self().waited) from.read(); // it may also land at once
  Block::current().self().copies.push_back([to, from, there] { to.land(0, there ? from.read() : Uint4{}); });
}

#else

void copy_or_zero(Shared<Uint4> to, Global<const Uint4> from, bool there);

#endif

} // namespace gpu
} // namespace quern
