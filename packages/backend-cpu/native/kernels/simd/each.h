// The loop over a row. Included by vector.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// f(i) for each whole register of n elements, then f(i, n - i) for the rest. f takes (int64_t i, auto... rest): one body
// serves both, as in load(x + i, rest...).
template <class F>
inline void each(int64_t n, F f) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) f(i);
  if (i < n) f(i, n - i);
}

} // namespace
} // namespace quern::QUERN_ISA
