#include "runtime/call.h"

namespace quern {

void LayerNormOp::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y); // [.., D]
  const int64_t D = x.width();
  const float *w = call.vector(W, D), *b = call.vector(B, D);
  const float eps = call.number(EPS);
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.rows(), 4 * D, [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) call.kernels.layer_norm(x.row(row), w, b, eps, y.data + row * D, D);
  });
}

} // namespace quern
