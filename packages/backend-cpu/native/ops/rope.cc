#include "runtime/call.h"

namespace quern {

void RopeOp::run(Call& call) {
  const Floats x = call.floats(X, 3), y = call.floats(Y, 3); // [T, H, d]
  const Floats table = call.floats(TABLE, 2);                // [T, R]
  const int64_t T = x.shape[0], H = x.shape[1], d = x.shape[2], R = table.shape[1];
  const int32_t layout = call.integer(LAYOUT);
  call.need(x.count == y.count && table.shape[0] == T && R <= d && R % 2 == 0, "table must be [T, R] with R ≤ d");
  call.split(T, H * d, [&](int64_t first, int64_t end, int) {
    for (int64_t t = first; t < end; t++)
      call.kernels.rope(x.data + t * H * d, table.row(t), y.data + t * H * d, H, d, R, layout);
  });
}

} // namespace quern
