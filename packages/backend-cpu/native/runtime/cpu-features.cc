#include "runtime/cpu-features.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(QUERN_X86)
#include <cpuid.h>
#elif defined(QUERN_ARM) && defined(__linux__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include "quern/darwin/system-values.h"
#elif defined(_WIN32) && defined(QUERN_ARM)
#include "quern/windows/windows.h"
#endif

namespace quern {

#if defined(QUERN_X86)

struct Cpuid {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zeros for a leaf that the processor lacks.
static Cpuid cpuid(uint32_t leaf, uint32_t subleaf = 0) {
  Cpuid r;
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

// XCR0: register states saved by the operating system.
[[maybe_unused]] static constexpr uint64_t ymm_state = 0x06, zmm_state = 0xe6;
static uint64_t saved_states() {
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Apple's systems save the registers of AVX-512 from a thread's first use on, and set the bits of XCR0 only then.
static bool saves_avx512(uint64_t saved) {
#if defined(__APPLE__)
  return (saved & ymm_state) == ymm_state && system_number("hw.optional.avx512f", 0) != 0;
#else
  return (saved & zmm_state) == zmm_state;
#endif
}

static bool has(uint32_t word, uint32_t bits) { return (word & bits) == bits; }

// Whether this process may use tile registers. Linux saves them only for processes that ask
// (Documentation/arch/x86/xstate.rst).
static bool has_tiles([[maybe_unused]] uint32_t seven_edx, [[maybe_unused]] uint64_t saved) {
#if defined(__linux__)
  constexpr uint32_t amx_tile = 1u << 24;
  constexpr uint64_t tile_state = 0x60000;
  constexpr long request_permission = 0x1023, tile_data = 18;
  return has(seven_edx, amx_tile) && (saved & tile_state) == tile_state &&
         syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
  return false;
#endif
}

static bool made_by_amd() {
  const Cpuid vendor = cpuid(0);
  return vendor.ebx == 0x68747541 && vendor.edx == 0x69746e65 && vendor.ecx == 0x444d4163; // AuthenticAMD
}

// Bits of cpuid leaves 1 and 7 and of XCR0: Intel SDM, volume 1, section 14.
static CpuFeatures detect() {
  constexpr uint32_t fma = 1u << 12, osxsave = 1u << 27, avx = 1u << 28, f16c = 1u << 29;
  constexpr uint32_t avx2 = 1u << 5, f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31, vnni = 1u << 11;
  constexpr uint32_t avx512_bf16 = 1u << 5, amx_bf16 = 1u << 22, amx_int8 = 1u << 25;
  const Cpuid one = cpuid(1), seven = cpuid(7);
  CpuFeatures features;
  if (!has(one.ecx, osxsave)) return features;
  const uint64_t saved = saved_states();
  features.avx2 = has(one.ecx, fma | avx | f16c) && has(seven.ebx, avx2) && (saved & ymm_state) == ymm_state;
  features.avx512 = features.avx2 && has(seven.ebx, f | dq | bw | vl) && saves_avx512(saved);
  features.avx512_vnni = features.avx512 && has(seven.ecx, vnni);
  features.avx512_bf16 = features.avx512_vnni && has(cpuid(7, 1).eax, avx512_bf16);
  features.fast_bf16 = features.avx512_bf16 && made_by_amd();
  const bool tiles = has_tiles(seven.edx, saved);
  features.amx_int8 = tiles && has(seven.edx, amx_int8);
  features.amx_bf16 = features.amx_int8 && has(seven.edx, amx_bf16);
#if defined(QUERN_EMULATE_AVX512)
  features.amx = features.avx2;
#elif defined(QUERN_EMULATE_AMX)
  features.amx = features.avx512_bf16;
#else
  features.amx = features.avx512_bf16 && features.amx_bf16;
#endif
  return features;
}

std::string cpu_name() {
  char name[49] = {};
  for (uint32_t part = 0; part < 3; part++) {
    const Cpuid words = cpuid(0x80000002 + part);
    memcpy(name + part * 16, &words, sizeof words);
  }
  const char* start = name + strspn(name, " ");
  std::string trimmed(start);
  while (!trimmed.empty() && trimmed.back() == ' ') trimmed.pop_back();
  return trimmed.empty() ? "x86-64" : trimmed;
}

#elif defined(QUERN_ARM)

static CpuFeatures detect() {
  CpuFeatures features;
#if defined(__linux__)
  features.dotprod = getauxval(AT_HWCAP) & HWCAP_ASIMDDP;
  features.i8mm = features.dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM);
#elif defined(__APPLE__)
  features.dotprod = system_number("hw.optional.arm.FEAT_DotProd", 0) != 0;
  features.i8mm = features.dotprod && system_number("hw.optional.arm.FEAT_I8MM", 0) != 0;
#elif defined(_WIN32)
  constexpr DWORD dotprod = 43, i8mm = 66; // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, PF_ARM_V82_I8MM_…: older headers lack them
  features.dotprod = IsProcessorFeaturePresent(dotprod);
  features.i8mm = features.dotprod && IsProcessorFeaturePresent(i8mm);
#endif
  return features;
}

#if defined(__APPLE__)

std::string cpu_name() {
  const std::string name = system_text("machdep.cpu.brand_string"); // "Apple M2"
  return name.empty() ? "64-bit Arm" : name;
}

#else

// MIDR_EL1 of the current core; 0 if the system does not let programs read it.
static uint64_t identification() {
#if defined(__linux__)
  if (getauxval(AT_HWCAP) & HWCAP_CPUID) {
    uint64_t midr;
    __asm__("mrs %0, MIDR_EL1" : "=r"(midr));
    return midr;
  }
#endif
  return 0;
}

// Part numbers of Arm's own cores (implementer 0x41), from their technical reference manuals.
struct Core {
  uint32_t part;
  const char* name;
};
static constexpr Core cores[] = {
    {0xd03, "Cortex-A53"}, {0xd07, "Cortex-A57"}, {0xd08, "Cortex-A72"},  {0xd0b, "Cortex-A76"},
    {0xd0c, "Neoverse N1"}, {0xd40, "Neoverse V1"}, {0xd49, "Neoverse N2"}, {0xd4f, "Neoverse V2"},
};

std::string cpu_name() {
  const uint64_t midr = identification();
  if (midr == 0) return "64-bit Arm";
  const uint32_t implementer = midr >> 24 & 0xff, part = midr >> 4 & 0xfff;
  for (const Core& core : cores)
    if (implementer == 0x41 && part == core.part) return std::string("Arm ") + core.name;
  char name[64];
  snprintf(name, sizeof name, "64-bit Arm (implementer 0x%02x, part 0x%03x)", implementer, part);
  return name;
}

#endif

#else

static CpuFeatures detect() { return {}; }

std::string cpu_name() { return "CPU"; }

#endif

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = detect();
  return features;
}

} // namespace quern
