#include "ops/elementwise.h"

namespace quern {

void AddOp::run(Call& call) {
  zip_rows(call, call.floats(A), call.floats(B), call.floats(Y), call.kernels.add);
}

} // namespace quern
