// Bytes and numbers of bf16 within a word.
#pragma once
#include "dialect.h"

namespace quern {
namespace gpu {

#if defined(__CUDACC__)

// Byte i is byte s of the eight bytes of a (0 to 3) and b (4 to 7), where s is digit i of `from`, the lowest first; digits: 0 to 7
// (PTX ISA, prmt: a digit from 8 on would copy a sign).
FUNCTION unsigned bytes_from(unsigned a, unsigned b, unsigned from) {
  unsigned bytes;
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(a), "r"(b), "r"(from));
  return bytes;
}

// Two floats as bf16, rounded to nearest even; the first one in the low half.
FUNCTION unsigned bf16_pair(float low, float high) {
  unsigned pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

#elif defined(QUERN_KERNEL_ARGUMENTS)

unsigned bytes_from(unsigned a, unsigned b, unsigned from);
unsigned bf16_pair(float low, float high);

#else

inline unsigned bytes_from(unsigned a, unsigned b, unsigned from) {
  if (from & 0x8888) fault("bytes_from: the digits of %x are not 0 to 7", from & 0xffff);
  const uint64_t eight = uint64_t(b) << 32 | a;
  unsigned bytes = 0;
  for (int i = 0; i < 4; i++) bytes |= unsigned(eight >> (from >> 4 * i & 7) * 8 & 255) << 8 * i;
  return bytes;
}

inline unsigned bf16_pair(float low, float high) { return unsigned(to_bf16(low)) | unsigned(to_bf16(high)) << 16; }

#endif

} // namespace gpu
} // namespace quern
