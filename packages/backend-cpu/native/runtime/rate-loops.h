// Loops of independent multiply-adds on registers: the most that a processor computes, as the thing to hold a kernel's
// speed against. They compute nothing of use, so they are not kernels; each function is compiled for its instructions
// alone, and nothing that it calls is shared with other code.
#pragma once
#include <stdint.h>

#include <span>

namespace quern {

struct RateLoop {
  const char* rate;            // what it measures: "f32", "bf16", "int8", "bf16-tiles", "int8-tiles"
  const char* isa;             // the kernels that may use these instructions: "avx2", "avx512"
  double operations;           // per round; a multiply-add counts two
  bool (*available)();         // on this processor and system
  void (*run)(int64_t rounds);
};

// Every loop of this build, also those that are not available.
std::span<const RateLoop> rate_loops();

} // namespace quern
