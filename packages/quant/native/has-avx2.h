// Whether this processor has AVX2, and the system keeps its registers. Not __builtin_cpu_supports: Zig's runtime library lacks it.
#pragma once
#include <cpuid.h>

#include <cstdint>

namespace quern {

/** Bits of cpuid leaves 1 and 7 and of XCR0: Intel SDM, volume 1, section 14. */
inline bool hasAvx2() {
  constexpr uint32_t osxsave = 1u << 27, avx = 1u << 28, avx2 = 1u << 5, ymmState = 6;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & (osxsave | avx)) != (osxsave | avx)) return false;
  uint32_t saved = 0, high = 0;
  __asm__("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
  if ((saved & ymmState) != ymmState) return false;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && (ebx & avx2) != 0;
}

}  // namespace quern
