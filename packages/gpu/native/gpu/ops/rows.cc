// Ops on rows: a block per row.
#include "gpu/op-call.h"
#include "gpu/ops/ops.h"
#include "kernels/embed.h"
#include "kernels/l2-normalise.h"
#include "kernels/layer-norm.h"
#include "kernels/pool.h"
#include "kernels/rms-norm.h"
#include "kernels/route.h"
#include "kernels/softmax.h"
#include "kernels/weighted-sum.h"
#include "quern/failure.h"

namespace quern::gpu {

void rms_norm(const OpCall& op) {
  const quern::Floats x = op.floats(RmsNormOp::X), y = op.floats(RmsNormOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  const float* const w = op.vector(RmsNormOp::W, x.width());
  op.launch("rms_norm", x.rows(), threads_of_sum(x.width()),
            RmsNorm{x.data, w, y.data, op.small(x.width()), op.number(RmsNormOp::EPS)});
}

void layer_norm(const OpCall& op) {
  const quern::Floats x = op.floats(LayerNormOp::X), y = op.floats(LayerNormOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  const float *w = op.vector(LayerNormOp::W, x.width()), *b = op.vector(LayerNormOp::B, x.width());
  op.launch("layer_norm", x.rows(), threads_of_sum(x.width()),
            LayerNorm{x.data, w, b, y.data, op.small(x.width()), op.number(LayerNormOp::EPS)});
}

void route(const OpCall& op) {
  using Op = RouteOp;
  const quern::Floats logits = op.floats(Op::LOGITS, 2), weights = op.floats(Op::WEIGHTS, 2);
  const int64_t T = logits.shape[0], E = logits.width(), k = op.integer(Op::CHOSEN), groups = op.integer(Op::GROUPS);
  const int64_t groups_chosen = op.integer(Op::GROUPS_CHOSEN), score = op.integer(Op::SCORE);
  op.need(weights.shape[0] == T && weights.width() == k && op.operand(Op::IDS).count == weights.count, "ids and weights must be [T, k]");
  op.need(score >= 0 && score <= 2 && groups >= 1 && E % groups == 0 && groups_chosen >= 1 && groups_chosen <= groups && k >= 1 &&
              k <= groups_chosen * (E / groups),
          "score must be 0 to 2, groups divide the experts, and the chosen groups have k of them");
  if (E > ROUTED) fail(Code::unsupported, "route: %lld experts; GPUs take %d at most", (long long)E, ROUTED);
  const int threads = std::min(256, threads_of_row(E));
  op.launch("route", T, threads,
            Route{logits.data, op.vector(Op::BIAS, E), op.ints_out(Op::IDS), weights.data, int(E), int(k), int(score), int(groups),
                  int(groups_chosen), op.integer(Op::RENORMALISE), op.number(Op::SCALE)});
}

void softmax(const OpCall& op) {
  const quern::Floats x = op.floats(SoftmaxOp::X), y = op.floats(SoftmaxOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  op.launch("softmax", x.rows(), threads_of_sum(x.width()), Softmax{x.data, y.data, op.small(x.width())});
}

void l2_normalise(const OpCall& op) {
  const quern::Floats x = op.floats(L2NormaliseOp::X), y = op.floats(L2NormaliseOp::Y);
  op.need(x.same_shape(y), "y must have the shape of x");
  op.launch("l2_normalise", x.rows(), threads_of_sum(x.width()), L2Normalise{x.data, y.data, op.small(x.width())});
}

void weighted_sum(const OpCall& op) {
  const quern::Floats x = op.floats(WeightedSumOp::X, 3), weights = op.floats(WeightedSumOp::WEIGHTS, 2);
  const quern::Floats y = op.floats(WeightedSumOp::Y, 2);
  const int64_t T = x.shape[0], k = x.shape[1], D = x.width();
  op.need(weights.shape[0] == T && weights.width() == k && y.shape[0] == T && y.width() == D,
          "weights must be [T, k], y [T, D]");
  if (y.count > 0)
    op.launch("weighted_sum", T, threads_of_row(D), WeightedSum{x.data, weights.data, nullptr, y.data, op.small(k), op.small(D)});
}

template <class Rows>
static void look_up(const OpCall& op, const std::string& kernel, Rows table, int64_t rows, const int32_t* ids, int64_t count,
                    const quern::Floats& y) {
  op.launch(kernel, count, threads_of_row(y.width()),
            Lookup<Rows>{table, ids, y.data, op.small(rows), op.small(y.width()), op.fault, op.index});
}

void embed(const OpCall& op) {
  const GpuWeight& table = op.weight(EmbedOp::TABLE, 2);
  const quern::Floats y = op.floats(EmbedOp::Y, 2);
  const int64_t count = op.operand(EmbedOp::IDS).count, rows = table.shape()[0];
  const int32_t* const ids = op.ids(EmbedOp::IDS);
  op.need(y.width() == table.shape()[1] && y.shape[0] == count, "y must have a row of the table for each id");
  with_array(table, [&](auto array) { look_up(op, kernel_for("embed", table), array, rows, ids, count, y); });
}

void gather_rows(const OpCall& op) {
  const quern::Floats x = op.floats(GatherRowsOp::X, 2), y = op.floats(GatherRowsOp::Y, 2);
  const int64_t count = op.operand(GatherRowsOp::ROWS).count;
  op.need(y.shape[0] == count && y.width() == x.width(), "y must have a row of x for each index");
  look_up(op, "gather_rows", Dense<F32>{x.data}, x.shape[0], op.ids(GatherRowsOp::ROWS), count, y);
}

void pool(const OpCall& op) {
  const quern::Floats x = op.floats(PoolOp::X, 2), y = op.floats(PoolOp::Y, 2);
  const int64_t S = op.operand(PoolOp::CU_SEQLENS).count - 1, D = x.width();
  op.need(S >= 0 && y.shape[0] == S && y.width() == D, "y must be [S, D]");
  op.launch("pool", S, threads_of_row(D),
            Pool{x.data, op.ids(PoolOp::CU_SEQLENS), y.data, op.small(x.shape[0]), op.small(D), op.integer(PoolOp::BY),
                 op.fault, op.index});
}

}  // namespace quern::gpu
