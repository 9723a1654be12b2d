// y = f(x), element by element: silu, gelu, tanh, sigmoid.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

// x / (1 + e⁻ˣ)
FUNCTION float silu_of(float x) { return x / (1 + exponential(-x)); }

// x · Φ(x) = x / 2 · (1 + erf(x / √2)) (Hendrycks and Gimpel 2016)
FUNCTION float gelu_erf_of(float x) { return 0.5f * x * (1 + error_function(x * 0.70710678f)); }

// x / 2 · (1 + tanh(z)), z = √(2 / π) · (x + 0.044715 x³). Written as x / (1 + e⁻²ᶻ): 1 + tanh(z) loses digits if z < 0.
FUNCTION float gelu_tanh_of(float x) { return x / (1 + exponential(-1.59576912f * (x + 0.044715f * x * x * x))); }

struct Sigmoid {
  FUNCTION float operator()(float x) const { return 1 / (1 + exponential(-x)); }
};
struct Silu {
  FUNCTION float operator()(float x) const { return silu_of(x); }
};
struct GeluErf {
  FUNCTION float operator()(float x) const { return gelu_erf_of(x); }
};
struct GeluTanh {
  FUNCTION float operator()(float x) const { return gelu_tanh_of(x); }
};
struct Tanh {
  FUNCTION float operator()(float x) const { return hyperbolic_tangent(x); }
};

KERNEL(sigmoid, OneInput) { map(args.x, args.y, args.n, Sigmoid()); }
KERNEL(silu, OneInput) { map(args.x, args.y, args.n, Silu()); }
KERNEL(gelu_erf, OneInput) { map(args.x, args.y, args.n, GeluErf()); }   // form 0
KERNEL(gelu_tanh, OneInput) { map(args.x, args.y, args.n, GeluTanh()); } // form 1
KERNEL(tanh_op, OneInput) { map(args.x, args.y, args.n, Tanh()); }       // C has a tanh

} // namespace gpu
} // namespace quern
