// y = f(gate) · up, element by element (Shazeer 2020).
#pragma once
#include "activations.h"

namespace quern {
namespace gpu {

struct Gated {
  Global<const float> gate, up; // [n]
  Global<float> y;              // [n]
  int64_t n;
};

struct Swiglu {
  FUNCTION float operator()(float gate, float up) const { return silu_of(gate) * up; }
};
struct Geglu {
  FUNCTION float operator()(float gate, float up) const { return gelu_tanh_of(gate) * up; }
};

KERNEL(swiglu, Gated) { map2(args.gate, args.up, args.y, args.n, args.n, Swiglu()); }
KERNEL(geglu, Gated) { map2(args.gate, args.up, args.y, args.n, args.n, Geglu()); }

} // namespace gpu
} // namespace quern
