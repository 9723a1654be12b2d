#include "runtime/call.h"

namespace quern {

void AddLayerNormOp::run(Call& call) {
  const Floats a = call.floats(A), b = call.floats(B);     // [.., D]
  const Floats sum = call.floats(SUM), y = call.floats(Y); // [.., D]
  const int64_t D = a.width();
  const float *w = call.vector(W, D), *bias = call.vector(BIAS, D);
  const float eps = call.number(EPS);
  call.need(b.count == a.count && sum.count == a.count && y.count == a.count, "operands must share a shape");
  call.split(a.rows(), 5 * D, [&](int64_t first, int64_t end, int) {
    for (int64_t at = first * D; at < end * D; at += D) {
      call.kernels.add(a.data + at, b.data + at, sum.data + at, D);
      call.kernels.layer_norm(sum.data + at, w, bias, eps, y.data + at, D);
    }
  });
}

} // namespace quern
