#include <limits>

#include "runtime/call.h"

namespace quern {

void MaskLogitsOp::run(Call& call) {
  const Floats x = call.floats(X, 2), y = call.floats(Y, 2); // [S, V]
  const Ints bits = call.ints(BITS);                         // [S, ⌈V/32⌉]
  const int64_t S = x.shape[0], V = x.shape[1], words = (V + 31) / 32;
  call.need(y.same_shape(x) && bits.count == S * words, "bits must be [S, ⌈V/32⌉] and y as x");
  call.split(S, V, [&](int64_t first, int64_t end, int) {
    for (int64_t s = first; s < end; s++)
      for (int64_t v = 0; v < V; v++) {
        const bool allowed = static_cast<uint32_t>(bits[s * words + v / 32]) >> (v % 32) & 1;
        y.row(s)[v] = allowed ? x.row(s)[v] : -std::numeric_limits<float>::infinity();
      }
  });
}

} // namespace quern
