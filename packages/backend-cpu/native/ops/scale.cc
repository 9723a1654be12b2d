#include "ops/elementwise.h"

namespace quern {

void ScaleOp::run(Call& call) {
  const float factor = call.number(FACTOR);
  map(call, plain_cost, call.floats(X), call.floats(Y),
      [&](const float* x, float* y, int64_t n) { call.kernels.scale(x, factor, y, n); });
}

} // namespace quern
