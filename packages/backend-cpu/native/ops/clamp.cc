#include "ops/elementwise.h"

namespace quern {

void ClampOp::run(Call& call) {
  const float low = call.number(LOW), high = call.number(HIGH);
  map(call, plain_cost, call.floats(X), call.floats(Y), [=](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = x[i] < low ? low : x[i] > high ? high : x[i]; // NaN: neither
  });
}

} // namespace quern
