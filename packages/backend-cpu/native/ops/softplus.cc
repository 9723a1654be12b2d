#include <math.h>

#include "runtime/call.h"

namespace quern {

// ln(1 + eˣ), without overflow; NaN stays NaN.
static float softplus_of(float x) { return (x > 0 ? x : x < 0 ? 0 : x) + log1pf(expf(-fabsf(x))); }

void SoftplusOp::run(Call& call) {
  const Floats x = call.floats(X), y = call.floats(Y); // [.., N]
  const int64_t N = x.width();
  const float *bias = call.vector(BIAS, N), *factor = call.vector(FACTOR, N);
  call.need(y.same_shape(x), "y must have x's shape");
  call.split(x.rows(), 20 * N, [&](int64_t first, int64_t end, int) {
    for (int64_t row = first; row < end; row++)
      for (int64_t i = 0; i < N; i++)
        y.row(row)[i] = (factor ? factor[i] : 1) * softplus_of(x.row(row)[i] + (bias ? bias[i] : 0));
  });
}

} // namespace quern
