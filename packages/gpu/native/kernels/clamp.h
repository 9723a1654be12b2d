// y = x, at least low and at most high, element by element. NaN stays NaN.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct Clamp {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  int64_t n;
  float low, high;
};

struct Within {
  float low, high;
  FUNCTION float operator()(float x) const { return x < low ? low : x > high ? high : x; }
};

KERNEL(clamp_op, Clamp) { map(args.x, args.y, args.n, Within{args.low, args.high}); } // Metal has a clamp

} // namespace gpu
} // namespace quern
