#include "quern/plain/plain.h"

namespace quern::plain {

void gather_rows(const OpView& op) {
  const Floats x = op.floats(GatherRowsOp::X, 2), y = op.floats(GatherRowsOp::Y, 2);
  const Ints rows = op.ints(GatherRowsOp::ROWS);
  op.need(y.shape[0] == rows.count && y.width() == x.width(), "y must have a row of x for each index");
  for (int64_t r = 0; r < rows.count; r++) {
    if (rows[r] < 0 || rows[r] >= x.shape[0])
      op.out_of_range("rows[%lld] is %d, but x has %lld rows", (long long)r, rows[r], (long long)x.shape[0]);
    std::copy_n(x.row(rows[r]), x.width(), y.row(r));
  }
}

} // namespace quern::plain
