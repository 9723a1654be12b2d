// y = f(a, b), element by element. b may be one row for all rows of a.
#pragma once
#include "map.h"

namespace quern {
namespace gpu {

struct TwoInputs {
  Global<const float> a, b; // [n], [b_count]
  Global<float> y;          // [n]
  int64_t n, b_count;
};

struct Plus {
  FUNCTION float operator()(float a, float b) const { return a + b; }
};
struct TimesOther {
  FUNCTION float operator()(float a, float b) const { return a * b; }
};

KERNEL(add, TwoInputs) { map2(args.a, args.b, args.y, args.n, args.b_count, Plus()); }
KERNEL(mul, TwoInputs) { map2(args.a, args.b, args.y, args.n, args.b_count, TimesOther()); }

} // namespace gpu
} // namespace quern
