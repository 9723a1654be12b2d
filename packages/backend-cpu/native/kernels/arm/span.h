// A span of TT rows of x, and the dot products of a block with each row: for instructions that take one row at a time.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {
namespace {

template <int TT>
struct Span {
  Span(const QuantisedRow (&x)[TT], int64_t at) {
    for (int t = 0; t < TT; t++) row[t] = x[t].values + at * SPAN;
  }
  const int8_t* row[TT];
};

// f(t, dots) for each t: COUNT quads of four rows of w with row t of x, from value k on. |q| ≤ LARGEST.
template <int LARGEST, int COUNT, int TT, class F>
inline void dots(const Bytes (&quads)[COUNT], const Span<TT>& x, int k, F f) {
#pragma GCC unroll 8
  for (int t = 0; t < TT; t++) f(t, row_dots<LARGEST>(quads, x.row[t] + k));
}

} // namespace
} // namespace quern::QUERN_ISA
