#include "ops/mask-word.h"
#include "runtime/call.h"

namespace quern {

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
