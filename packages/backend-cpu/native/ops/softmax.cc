#include "runtime/call.h"

namespace quern {

void SoftmaxOp::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y); // [.., V]
  const int64_t V = x.width();
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.rows(), 8 * V, [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) call.kernels.softmax(x.row(row), y.data + row * V, V);
  });
}

} // namespace quern
