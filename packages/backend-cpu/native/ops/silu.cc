#include "ops/elementwise.h"

namespace quern {

void SiluOp::run(Call& call) {
  map(call, exponential_cost, call.floats(X), call.floats(Y), call.kernels.silu);
}

} // namespace quern
