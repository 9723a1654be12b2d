// y = x in another format, element by element. A cast to the same format is a copy.
#pragma once
#include "formats.h"
#include "map.h"

namespace quern {
namespace gpu {

struct Narrow {
  Global<const float> x;    // [n]
  Global<unsigned short> y; // [n]
  int64_t n;
};
struct Widen {
  Global<const unsigned short> x; // [n]
  Global<float> y;                // [n]
  int64_t n;
};
struct Recode {
  Global<const unsigned short> x; // [n]
  Global<unsigned short> y;       // [n]
  int64_t n;
};

template <class From, class To>
struct Convert {
  FUNCTION typename To::Stored operator()(typename From::Stored x) const { return To::rounded(From::value(x)); }
};

template <class T>
struct Same {
  FUNCTION T operator()(T x) const { return x; }
};

KERNEL(cast_f32_f32, OneInput) { map(args.x, args.y, args.n, Same<float>()); }
KERNEL(cast_f16_f16, Recode) { map(args.x, args.y, args.n, Same<unsigned short>()); }
KERNEL(cast_bf16_bf16, Recode) { map(args.x, args.y, args.n, Same<unsigned short>()); }
KERNEL(cast_f32_f16, Narrow) { map(args.x, args.y, args.n, Convert<F32, F16>()); }
KERNEL(cast_f32_bf16, Narrow) { map(args.x, args.y, args.n, Convert<F32, Bf16>()); }
KERNEL(cast_f16_f32, Widen) { map(args.x, args.y, args.n, Convert<F16, F32>()); }
KERNEL(cast_bf16_f32, Widen) { map(args.x, args.y, args.n, Convert<Bf16, F32>()); }
KERNEL(cast_f16_bf16, Recode) { map(args.x, args.y, args.n, Convert<F16, Bf16>()); }
KERNEL(cast_bf16_f16, Recode) { map(args.x, args.y, args.n, Convert<Bf16, F16>()); }

} // namespace gpu
} // namespace quern
