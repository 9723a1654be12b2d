// y = x · factor, element by element.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct Scale {
  Global<const float> x; // [n]
  Global<float> y;       // [n]
  int64_t n;
  float factor;
};

struct Times {
  float factor;
  FUNCTION float operator()(float x) const { return x * factor; }
};

KERNEL(scale, Scale) { map(args.x, args.y, args.n, Times{args.factor}); }

} // namespace gpu
} // namespace quern
