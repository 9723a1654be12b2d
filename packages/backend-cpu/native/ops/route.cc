#include "quern/router.h"

#include "runtime/call.h"

namespace quern {

void RouteOp::run(Call& call) {
  const Router router(call, call.vector(BIAS, call.floats(LOGITS, 2).width()));
  call.scratch.reserve(2 * router.work(), 0);
  call.split(router.rows(), (32 + call.integer(CHOSEN)) * router.experts(), [&](int64_t first, int64_t end, int thread) {
    auto* const work = reinterpret_cast<double*>(call.scratch.of(thread));
    for (int64_t t = first; t < end; t++) router.route(t, work);
  });
}

} // namespace quern
