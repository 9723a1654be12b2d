// Masks of grammars: runs of equal bits with few others.
#pragma once
#include <stdint.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace quern {

// Calls `act` with the place of each 1 in `bits`.
template <class Act> void each_bit(uint32_t bits, const Act& act) {
  for (; bits != 0; bits &= bits - 1) act(std::countr_zero(bits));
}

// y = x where the bit is 1, −∞ elsewhere, for `count` ≤ 32 elements. y may be x.
inline void mask_word(const float* x, uint32_t bits, float* y, int64_t count) {
  constexpr float excluded = -std::numeric_limits<float>::infinity();
  const uint32_t whole = count == 32 ? ~0u : (1u << count) - 1, allowed = bits & whole;
  if (2 * std::popcount(allowed) > count) {
    if (x != y) std::copy_n(x, count, y);
    each_bit(whole & ~bits, [&](int i) { y[i] = excluded; });
  } else {
    float kept[32];
    each_bit(allowed, [&](int i) { kept[i] = x[i]; });
    std::fill_n(y, count, excluded);
    each_bit(allowed, [&](int i) { y[i] = kept[i]; });
  }
}

} // namespace quern
