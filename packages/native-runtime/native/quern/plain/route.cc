#include "quern/plain/plain.h"
#include "quern/router.h"

namespace quern::plain {

void route(const OpView& op) {
  const Router router(op, vector(op, RouteOp::BIAS, op.floats(RouteOp::LOGITS, 2).width()));
  std::vector<double> work(router.work());
  for (int64_t t = 0; t < router.rows(); t++) router.route(t, work.data());
}

} // namespace quern::plain
