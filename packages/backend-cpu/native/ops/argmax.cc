#include "runtime/call.h"

namespace quern {

void ArgmaxOp::run(Call& call) {
  const Floats x = call.floats(X);     // [.., V]
  int32_t* const y = call.ints_out(Y); // [..]
  call.need(x.rank > 0 && x.width() > 0 && call.operand(Y).count == x.rows(), "x must be [.., V] and y [..]");
  call.split(x.rows(), x.width(), [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++) {
      float max;
      y[row] = static_cast<int32_t>(call.kernels.argmax(x.row(row), x.width(), &max));
    }
  });
}

} // namespace quern
