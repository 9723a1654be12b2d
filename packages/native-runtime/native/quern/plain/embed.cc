#include "quern/plain/plain.h"

namespace quern::plain {

void embed(const OpView& op) {
  const Operand& table = op.operand(EmbedOp::TABLE);
  const float* const rows = weight(op, EmbedOp::TABLE, 2);
  const Ints ids = op.ints(EmbedOp::IDS);
  const Floats y = op.floats(EmbedOp::Y, 2);
  op.need(y.width() == table.shape[1] && y.shape[0] == ids.count, "y must have a row of the table for each id");
  for (int64_t t = 0; t < ids.count; t++) {
    if (ids[t] < 0 || ids[t] >= table.shape[0])
      op.out_of_range("ids[%lld] is %d, but the table has %lld rows", (long long)t, ids[t], (long long)table.shape[0]);
    std::copy_n(rows + ids[t] * y.width(), y.width(), y.row(t));
  }
}

} // namespace quern::plain
