// Capabilities of this processor and operating system.
#pragma once
#include <string>

namespace quern {

struct CpuFeatures {
  bool avx2 = false;        // AVX2, FMA and F16C; the system saves the 256-bit registers
  bool avx512 = false;      // also AVX-512 F, BW, DQ, VL
  bool avx512_vnni = false; // also AVX-512 VNNI
  bool avx512_bf16 = false; // also AVX-512 BF16
  bool fast_bf16 = false;   // avx512_bf16, at more than the rate of f32
  bool amx_int8 = false;    // AMX tiles with int8, allowed for this process
  bool amx_bf16 = false;    // also AMX with bf16
  bool amx = false;         // AVX-512 VNNI and BF16, AMX int8 and bf16 (QUERN_EMULATE_…: or a model of AMX)
  bool dotprod = false;     // 64-bit Arm: FEAT_DotProd
  bool i8mm = false;        // also FEAT_I8MM
};

// Detected once.
const CpuFeatures& cpu_features();

// The processor's name: "AMD EPYC 9654".
std::string cpu_name();

} // namespace quern
