#include "ops/elementwise.h"
#include "ops/gelu.h"

namespace quern {

void GeluOp::run(Call& call) {
  map(call, exponential_cost, call.floats(X), call.floats(Y), gelu_kernel(call.kernels, call.integer(FORM)));
}

} // namespace quern
