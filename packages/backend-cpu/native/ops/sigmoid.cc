#include "ops/elementwise.h"

namespace quern {

void SigmoidOp::run(Call& call) {
  map(call, exponential_cost, call.floats(X), call.floats(Y), call.kernels.sigmoid);
}

} // namespace quern
