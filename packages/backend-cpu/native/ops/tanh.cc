#include "ops/elementwise.h"

namespace quern {

void TanhOp::run(Call& call) {
  map(call, exponential_cost, call.floats(X), call.floats(Y), call.kernels.tanh);
}

} // namespace quern
