#include "ops/elementwise.h"

namespace quern {

void GegluOp::run(Call& call) {
  zip(call, exponential_cost, call.floats(GATE), call.floats(UP), call.floats(Y), call.kernels.geglu);
}

} // namespace quern
