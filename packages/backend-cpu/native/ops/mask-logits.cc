#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/call.h"

namespace quern {

namespace {

constexpr float excluded = -std::numeric_limits<float>::infinity();

// Calls `act` with the place of each 1 in `bits`.
template <class Act> void each_bit(uint32_t bits, const Act& act) {
  for (; bits != 0; bits &= bits - 1) act(std::countr_zero(bits));
}

// `count` ≤ 32 elements. Masks of grammars are runs of equal bits with few others: copy or fill, then mend these.
void mask_word(const float* x, uint32_t bits, float* y, int64_t count) {
  const uint32_t whole = count == 32 ? ~0u : (1u << count) - 1;
  if (2 * std::popcount(bits & whole) > count) {
    std::copy_n(x, count, y);
    each_bit(~bits & whole, [&](int i) { y[i] = excluded; });
  } else {
    std::fill_n(y, count, excluded);
    each_bit(bits & whole, [&](int i) { y[i] = x[i]; });
  }
}

} // namespace

void MaskLogitsOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [S, V]
  const Ints bits = call.ints(BITS);                         // [S, ⌈V/32⌉]
  const int64_t S = x.shape[0], V = x.shape[1], words = (V + 31) / 32;
  call.need(y.same_shape(x) && bits.count == S * words, "bits must be [S, ⌈V/32⌉] and y as x");
  call.split(S * words, 32, [&](int64_t first, int64_t end, int) {
    for (int64_t i = first; i < end; i++) {
      const int64_t s = i / words, v = 32 * (i % words);
      mask_word(x.row(s) + v, static_cast<uint32_t>(bits[i]), y.row(s) + v, std::min<int64_t>(32, V - v));
    }
  });
}

} // namespace quern
