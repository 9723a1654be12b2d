// Loops of independent multiply-adds on registers: the peak rate of a processor, to compare kernels with. They compute
// nothing useful, so they are not kernels. Each function is compiled for its own instructions, and shares no code.
#pragma once
#include <stdint.h>

#include <span>

namespace quern {

struct RateLoop {
  const char* rate;            // name of the rate: "f32", "bf16", "int8", "bf16-tiles", "int8-tiles"
  const char* isa;             // kernel set that may use the instructions: "avx2", "avx512"
  double operations;           // per round; a multiply-add counts as two
  bool (*available)();         // on this processor and system
  void (*run)(int64_t rounds);
};

// All loops of this build, also unavailable ones.
std::span<const RateLoop> rate_loops();

} // namespace quern
