// The searches for scales, the slow part of encoding. Same operations in the same order as the JavaScript in
// src/format, so the bits are equal. Sums have four lanes, added in order at the end.
#pragma once
#include <cstddef>
#include <cstdint>

namespace quern {

/** See fitAffine in affine-fit.ts. */
struct AffineSearch {
  double top;
  double first;
  double step;
  int steps;
  bool absolute;
};

/** `size` elements per group: a multiple of 4, at most 32. `count` elements in whole groups. */
struct Groups {
  const float* x;         // [count]
  const double* weights;  // [count]
  size_t count;
  size_t size;
};

/** Levels on a curve: see iq4-encode.ts. */
struct Curve {
  const double* values;    // [16]
  const uint8_t* nearest;  // [512]
};

struct Search {
  /** scales and lifts [groups], levels [count]. */
  void (*affine)(const Groups& groups, const AffineSearch& search, double* scales, double* lifts, uint8_t* levels);
  /** scales and inverses [groups]. */
  void (*scale)(const Groups& groups, double top, double* scales, double* inverses);
  /** scales [groups]; `weights` are not used. */
  void (*descent)(const Groups& groups, double top, double* scales);
  /** scales [groups]. */
  void (*curve)(const Groups& groups, const Curve& curve, double* scales);
};

extern const Search baseline;
#ifdef QUERN_X86
extern const Search avx2;
#endif

}  // namespace quern
