// What this processor and its operating system can run.
#pragma once
#include <string>

namespace quern {

struct CpuFeatures {
  bool avx2 = false;        // AVX2, FMA and F16C, with the wide registers saved by the system
  bool avx512 = false;      // and AVX-512 F, BW, DQ, VL
  bool avx512_vnni = false; // and its VNNI
  bool avx512_bf16 = false; // and its BF16
  bool fast_bf16 = false;   // the same at more than the rate of floats
  bool amx_int8 = false;    // AMX tiles with int8, which this process may use
  bool amx_bf16 = false;    // and with bf16
  bool amx = false;         // AVX-512 VNNI and BF16, and both kinds of tiles (QUERN_EMULATE_AMX: or a model of them)
  bool dotprod = false;     // 64-bit Arm: FEAT_DotProd
  bool i8mm = false;        // and FEAT_I8MM
};

// Asked from the processor once.
const CpuFeatures& cpu_features();

// The processor's own name: "AMD EPYC 9654".
std::string cpu_name();

} // namespace quern
