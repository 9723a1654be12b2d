#include "quern/plain/plain.h"

namespace quern::plain {

void pool(const OpView& op) {
  const Floats x = op.floats(PoolOp::X, 2), y = op.floats(PoolOp::Y, 2);
  const Ints bounds = op.ints(PoolOp::CU_SEQLENS);
  const int64_t S = bounds.count - 1, D = x.width(), by = op.integer(PoolOp::BY);
  op.need(S >= 0 && y.shape[0] == S && y.width() == D, "y must be [S, D]");
  if (bounds[0] != 0 || bounds[S] != x.shape[0])
    op.out_of_range("cuSeqlens must run from 0 to %lld (rows of x); got %d to %d", (long long)x.shape[0], bounds[0], bounds[S]);
  for (int64_t s = 0; s < S; s++)
    if (bounds[s + 1] <= bounds[s])
      op.out_of_range("sequence %lld runs from row %d to %d: it needs a row", (long long)s, bounds[s], bounds[s + 1]);
  for (int64_t i = 0; i < y.count; i++) {
    const int64_t first = bounds[i / D], end = bounds[i / D + 1];
    double sum = 0;
    for (int64_t t = first; t < end; t++) sum += x.row(t)[i % D];
    y.data[i] = by == 1 ? static_cast<float>(sum / double(end - first)) : x.row(by == 0 ? first : end - 1)[i % D];
  }
}

} // namespace quern::plain
