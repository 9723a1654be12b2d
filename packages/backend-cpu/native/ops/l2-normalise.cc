#include "runtime/call.h"

namespace quern {

void L2NormaliseOp::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y); // [.., D]
  const int64_t D = x.width();
  call.need(x.count == y.count, "y must have x's shape");
  call.split(x.rows(), 2 * D, [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) call.kernels.l2_normalise(x.row(row), y.data + row * D, D);
  });
}

} // namespace quern
