#include "quern/plain/plain.h"

namespace quern::plain {

void expert_linear(const OpView& op) {
  const Floats x = op.floats(ExpertLinearOp::X, 2), y = op.floats(ExpertLinearOp::Y, 3);
  const float* const w = weight(op, ExpertLinearOp::W, 3);
  const Ints ids = op.ints(ExpertLinearOp::IDS);
  const int64_t *shape = op.operand(ExpertLinearOp::W).shape, E = shape[0], N = shape[1], K = shape[2], k = y.shape[1];
  op.need(x.width() == K && y.width() == N && y.shape[0] == x.shape[0] && ids.count == x.shape[0] * k,
          "x must be [R, K], w [E, N, K], ids [R, k], y [R, k, N]");
  for (int64_t i = 0; i < ids.count; i++)
    if (ids[i] < 0 || ids[i] >= E)
      op.out_of_range("ids[%lld] is %d, but w has %lld matrices", (long long)i, ids[i], (long long)E);
  for (int64_t i = 0; i < ids.count; i++) product(x.row(i / k), w + ids[i] * N * K, nullptr, N, K, y.row(i));
}

} // namespace quern::plain
