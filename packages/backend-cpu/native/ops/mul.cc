#include "ops/elementwise.h"

namespace quern {

void MulOp::run(Call& call) {
  zip_rows(call, call.floats(A), call.floats(B), call.floats(Y), call.kernels.mul);
}

} // namespace quern
