#include <cmath>

#include "ops/elementwise.h"

namespace quern {

void Log10Op::run(Call& call) {
  const float floor = call.number(FLOOR);
  map(call, exponential_cost, call.floats(X), call.floats(Y), [&](const float* x, float* y, int64_t n) {
    for (int64_t i = 0; i < n; i++) y[i] = std::log10(x[i] < floor ? floor : x[i]); // NaN stays NaN
  });
}

} // namespace quern
