// y = log₁₀(max(x, floor)), element by element. NaN stays NaN.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct Log10 {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  int64_t n;
  float floor;
};

struct Log10From {
  float floor;
  FUNCTION float operator()(float x) const { return is_nan(x) ? x : logarithm_10(largest(x, floor)); }
};

KERNEL(log10_op, Log10) { map(args.x, args.y, args.n, Log10From{args.floor}); } // C has a log10

} // namespace gpu
} // namespace quern
