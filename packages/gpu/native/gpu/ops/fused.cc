// Fused ops: core ops that pass their results on in scratch memory.
#include <array>

#include "gpu/ops/caches.h"
#include "gpu/ops/choice.h"
#include "gpu/ops/elements.h"
#include "gpu/ops/matrices.h"
#include "gpu/ops/ops.h"
#include "gpu/ops/product-few.h"
#include "kernels/add-norm.h"
#include "kernels/elementwise.h"
#include "kernels/gated.h"
#include "kernels/qk-norm-rope.h"
#include "kernels/renormalise.h"
#include "kernels/softmax.h"
#include "kernels/weighted-sum.h"

namespace quern::gpu {

template <class Op>
static void add_norm(const OpCall& op, const char* kernel, const float* bias) {
  const quern::Floats a = op.floats(Op::A), b = op.floats(Op::B), sum = op.floats(Op::SUM), y = op.floats(Op::Y);
  op.need(a.same_shape(b) && a.same_shape(sum) && a.same_shape(y), "all operands must have one shape");
  if (y.count > 0)
    op.launch(kernel, a.rows(), threads_of_sum(a.width()),
              AddNorm{a.data, b.data, op.vector(Op::W, a.width()), bias, sum.data, y.data, op.small(a.width()),
                      op.number(Op::EPS)});
}

void add_rms_norm(const OpCall& op) { add_norm<AddRmsNormOp>(op, "add_rms_norm", nullptr); }

void add_layer_norm(const OpCall& op) {
  add_norm<AddLayerNormOp>(op, "add_layer_norm", op.vector(AddLayerNormOp::BIAS, op.floats(AddLayerNormOp::A).width()));
}

void gate_up_swiglu(const OpCall& op) {
  using Op = GateUpSwigluOp;
  const quern::Floats x = op.floats(Op::X, 2), y = op.floats(Op::Y, 2);
  const GpuWeight &gate = op.weight(Op::GATE, 2), &up = op.weight(Op::UP, 2);
  const int64_t T = x.shape[0], F = gate.shape()[0];
  op.need(gate.shape() == up.shape() && gate.shape()[1] == x.width() && y.shape[0] == T && y.width() == F,
          "x must be [T, K], gate and up [F, K], y [T, F]");
  if (y.count == 0) return;
  ProductInput input = product_input(op, x);
  const bool invariant = op.flag(Op::BATCH_INVARIANT);
  const Product gates{input.x, gate, nullptr, y.data, T, invariant, &input.rows, input.norm};
  if (is_gate_up_few(op, gates, up)) return launch_gate_up_few(op, gates, up);
  if (!gate.order() && !up.order() && launch_matrix_gate_up(op, gates, up)) return;
  float* const ups = op.scratch<float>(y.count);
  launch_products(op, std::array{gates, Product{input.x, up, nullptr, ups, T, invariant, &input.rows, input.norm}});
  launch_map(op, "swiglu", Gated{y.data, ups, y.data, y.count});
}

void qkv_linear(const OpCall& op) {
  using Op = QkvLinearOp;
  const quern::Floats x = op.floats(Op::X, 2);
  const bool invariant = op.flag(Op::BATCH_INVARIANT);
  ProductInput input = product_input(op, x);
  const auto product = [&](int i) -> Product {
    const GpuWeight& w = op.weight(Op::Q + i, 2);
    const quern::Floats y = op.floats(Op::YQ + i, 2);
    const int64_t N = w.shape()[0];
    op.need(w.shape()[1] == x.width() && y.width() == N && y.shape[0] == x.shape[0], "x must be [T, K], w [N, K], y [T, N]");
    return {input.x, w, op.vector(Op::Q_BIAS + i, N), y.data, x.shape[0], invariant, &input.rows, input.norm};
  };
  launch_products(op, std::array{product(0), product(1), product(2)});
}

void bias_gelu(const OpCall& op) {
  using Op = BiasGeluOp;
  const quern::Floats x = op.floats(Op::X, 2), y = op.floats(Op::Y, 2);
  const GpuWeight& w = op.weight(Op::W, 2);
  op.need(w.shape()[1] == x.width() && y.width() == w.shape()[0] && y.shape[0] == x.shape[0],
          "x must be [T, K], w [N, K], y [T, N]");
  if (y.count == 0) return;
  launch_product(op, {x.data, w, op.vector(Op::BIAS, y.width()), y.data, x.shape[0], op.flag(Op::BATCH_INVARIANT)});
  launch_map(op, op.integer(Op::FORM) == 0 ? "gelu_erf" : "gelu_tanh", OneInput{y.data, y.data, y.count});
}

void linear_argmax(const OpCall& op) {
  using Op = LinearArgmaxOp;
  const quern::Floats x = op.floats(Op::X, 2);
  const GpuWeight& w = op.weight(Op::W, 2);
  const int64_t T = x.shape[0], N = w.shape()[0];
  op.need(w.shape()[1] == x.width() && op.operand(Op::Y).count == T, "x must be [T, K], w [N, K], y [T]");
  if (T == 0) return;
  ProductInput input = product_input(op, x);
  float* const logits = op.scratch<float>(T * N);
  launch_product(op, {input.x, w, nullptr, logits, T, false, &input.rows, input.norm});
  launch_argmax(op, logits, op.ints_out(Op::Y), T, N);
}

void qk_norm_rope_append(const OpCall& op) {
  using Op = QkNormRopeAppendOp;
  const quern::Floats q = op.floats(Op::Q, 3), k = op.floats(Op::K, 3), v = op.floats(Op::V, 3), y = op.floats(Op::Y, 3),
                      table = op.floats(Op::TABLE, 2);
  const int64_t T = q.shape[0], d = q.width(), R = table.width();
  op.need(q.same_shape(y) && k.same_shape(v) && k.shape[0] == T && k.width() == d && table.shape[0] == T && R <= d && R % 2 == 0,
          "q must be [T, H, d], k and v [T, Hk, d], table [T, R], R at most d and even");
  if (T == 0) return;
  need_small_heads(op, d);
  const AppendCall append = append_call(op, {k.data, v.data, Op::SLOTS, Op::K_CACHE, Op::V_CACHE, T, k.shape[1], d});
  op.launch(std::string("qk_norm_rope_append") + append.suffix, T * rope_blocks(int(q.shape[1]), int(k.shape[1])),
            ROPE_WARPS * WARP,
            QkNormRope{q.data, op.vector(Op::Q_NORM, d), op.vector(Op::K_NORM, d), table.data, y.data, op.small(T),
                       op.small(q.shape[1]), op.small(R / 2), op.integer(Op::LAYOUT), op.number(Op::EPS), append.args});
}

namespace {

// The experts of each token: [T, chosen].
struct Choice {
  float* weights;
  int32_t* ids;
};

Choice choose_experts(const OpCall& op, const quern::Floats& x, const GpuWeight& router, int64_t chosen) {
  const int64_t T = x.shape[0], E = router.shape()[0];
  float* const scores = op.scratch<float>(T * E);
  const Choice choice = {op.scratch<float>(T * chosen), op.scratch<int32_t>(T * chosen)};
  launch_product(op, {x.data, router, nullptr, scores, T});
  op.launch("softmax", T, threads_of_sum(E), Softmax{scores, scores, op.small(E)});
  launch_top_k(op, {scores, choice.weights, choice.ids, op.small(E), op.small(chosen)}, T);
  if (op.flag(MoeOp::RENORMALISE)) op.launch("renormalise", T, WARP, Renormalise{choice.weights, op.small(chosen)});
  return choice;
}

}  // namespace

void moe(const OpCall& op) {
  using Op = MoeOp;
  const quern::Floats x = op.floats(Op::X, 2), residual = op.floats(Op::RESIDUAL, 2), y = op.floats(Op::Y, 2);
  const GpuWeight &router = op.weight(Op::ROUTER, 2), &gate = op.weight(Op::GATE, 3), &up = op.weight(Op::UP, 3),
                  &down = op.weight(Op::DOWN, 3);
  const int64_t T = x.shape[0], D = x.width(), E = router.shape()[0], F = gate.shape()[1], chosen = op.integer(Op::CHOSEN);
  op.need(x.same_shape(y) && x.same_shape(residual) && chosen >= 1 && chosen <= E && router.shape()[1] == D &&
              gate.shape() == up.shape() && gate.shape()[0] == E && gate.shape()[2] == D && down.shape()[0] == E &&
              down.shape()[1] == D && down.shape()[2] == F,
          "router must be [E, D], gate and up [E, F, D], down [E, D, F], residual and y as x");
  if (y.count == 0) return;
  const Choice choice = choose_experts(op, x, router, chosen);
  const int64_t pairs = T * chosen;
  float *const gated = op.scratch<float>(pairs * F), *const parts = op.scratch<float>(pairs * D);
  const TilesByExpert tiles = tiles_by_expert(op, choice.ids, pairs, std::array{&gate, &up, &down});
  launch_expert_gate_up(op, {x.data, gate, choice.ids, gated, T, chosen, tiles}, up);
  launch_expert_product(op, {gated, down, choice.ids, parts, pairs, 1, tiles});
  op.launch("weighted_sum", T, threads_of_row(D),
            WeightedSum{parts, choice.weights, residual.data, y.data, op.small(chosen), op.small(D)});
}

}  // namespace quern::gpu
