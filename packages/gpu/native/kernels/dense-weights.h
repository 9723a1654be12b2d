// Dense weights: loads of 16 bytes, and the arguments of products.
#pragma once
#include "formats.h"

namespace quern {
namespace gpu {

// 16 bytes of a format: the type of a load, how many values it has, and value i.
template <class Format>
struct Wide {
  using Loaded = Uint4;
  enum { count = 8 };
  static FUNCTION float value(Uint4 loaded, int i) { return Format::value((unsigned short)(loaded[i / 2] >> i % 2 * 16)); }
};
template <>
struct Wide<F32> {
  using Loaded = Float4;
  enum { count = 4 };
  static FUNCTION float value(Float4 loaded, int i) { return loaded[i]; }
};

// An array by index.
template <class Format>
struct Dense {
  Global<const typename Format::Stored> values;
  FUNCTION float at(long i) const { return Format::value(values[i]); }
};

// Weights: an array by index (Dense, Blocks), or how it is stored.
template <class Weights>
struct Linear {
  Global<const float> x;    // [rows, depth]
  Weights w;                // [columns, depth]
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int rows, columns, depth;
};

} // namespace gpu
} // namespace quern
