#include "runtime/call.h"

namespace quern {

void EmbedOp::run(Call& call) {
  const Matrix& table = call.matrix(TABLE); // [V, D]
  const Ints ids = call.ints(IDS);          // [T]
  const Floats y = call.floats(Y, 2);       // [T, D]
  call.need(y.shape[0] == ids.count && y.shape[1] == table.width(), "y must be [T, D]");
  for (int64_t t = 0; t < ids.count; t++)
    if (ids[t] < 0 || ids[t] >= table.rows())
      call.out_of_range("ids[%lld] is %d, but the table has %lld rows", static_cast<long long>(t), ids[t],
                        static_cast<long long>(table.rows()));
  call.split(ids.count, table.width(), [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++) table.decode(call.kernels, ids[t], 1, y.row(t));
  });
}

} // namespace quern
