#include "ops/experts.h"

namespace quern {

void WeightedSumOp::run(Call& call) {
  const Floats x = call.floats(X, 3);             // [T, k, D]
  const Floats weights = call.floats(WEIGHTS, 2); // [T, k]
  const Floats y = call.floats(Y, 2);             // [T, D]
  const int64_t T = x.shape[0], k = x.shape[1], D = x.shape[2];
  call.need(weights.shape[0] == T && weights.shape[1] == k && y.shape[0] == T && y.shape[1] == D,
            "x must be [T, k, D], weights [T, k] and y [T, D]");
  call.split(T, (k + 1) * D, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++)
      weighted_sum(weights.row(t), k, [&](int64_t j) { return x.row(t * k + j); }, y.row(t), D);
  });
}

} // namespace quern
