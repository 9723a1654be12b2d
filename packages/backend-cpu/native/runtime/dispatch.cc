#include "runtime/dispatch.h"

#include "runtime/cpu-features.h"
#include "quern/failure.h"

namespace quern {

struct Isa {
  const char* name;
  bool (*available)();
  const Kernels& (*kernels)();
};

// Best first; scalar last. A new folder under kernels/ adds one line here.
static constexpr Isa isas[] = {
#if defined(QUERN_X86)
#if !defined(QUERN_WITHOUT_AVX512)
#if !defined(QUERN_EMULATE_AMX)
    {"amx", [] { return cpu_features().amx; }, amx_kernels},
#endif
#if !defined(QUERN_EMULATE_AVX512)
    {"avx512-bf16", [] { return cpu_features().fast_bf16; }, bf16_kernels},
    {"avx512-vnni", [] { return cpu_features().avx512_vnni; }, vnni_kernels},
    {"avx512", [] { return cpu_features().avx512; }, avx512_kernels},
#endif
#endif
    {"avx2", [] { return cpu_features().avx2; }, avx2_kernels},
#elif defined(QUERN_ARM)
    {"i8mm", [] { return cpu_features().i8mm; }, i8mm_kernels},
    {"dotprod", [] { return cpu_features().dotprod; }, dotprod_kernels},
    {"neon", [] { return true; }, neon_kernels},
#endif
    {"scalar", [] { return true; }, scalar_kernels},
// Emulated instructions, for tests: after scalar, so used only on request.
#if defined(QUERN_X86) && defined(QUERN_EMULATE_AMX) && !defined(QUERN_WITHOUT_AVX512)
    {"amx", [] { return cpu_features().amx; }, amx_kernels},
#endif
#if defined(QUERN_X86) && defined(QUERN_EMULATE_AVX512)
    {"avx512-bf16", [] { return cpu_features().avx2; }, bf16_kernels},
    {"avx512-vnni", [] { return cpu_features().avx2; }, vnni_kernels},
    {"avx512", [] { return cpu_features().avx2; }, avx512_kernels},
#endif
};

const Kernels& choose_kernels(const std::string& isa) {
  for (const Isa& candidate : isas)
    if (candidate.available() && (isa.empty() || isa == candidate.name)) return candidate.kernels();
  fail(Code::unsupported, "the instruction set '%s' is not available; this machine and build have: %s", isa.c_str(),
       available_isas().c_str());
}

std::string available_isas() {
  std::string names;
  for (const Isa& candidate : isas) {
    if (!candidate.available()) continue;
    if (!names.empty()) names += ", ";
    names += candidate.name;
  }
  return names;
}

} // namespace quern
