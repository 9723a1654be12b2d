// Products with weights.
#include "gpu/ops/products.h"

#include <array>

#include "gpu/ops/elements.h"
#include "gpu/ops/folded-norm.h"
#include "gpu/ops/matrices.h"
#include "gpu/ops/ops.h"
#include "gpu/ops/product-few.h"
#include "kernels/expert-linear.h"
#include "kernels/expert-order.h"
#include "kernels/gated.h"
#include "kernels/permute-columns.h"
#include "kernels/unfold.h"

namespace quern::gpu {

// The product with x in the order of w's columns.
static Product with_columns_in_order(const OpCall& op, Product product) {
  if (!product.w.order()) return product;
  const int64_t K = product.w.shape()[1], count = product.rows * K;
  float* const x = op.scratch<float>(count);
  op.launch_elements("permute_columns", count, PermuteColumns{product.x, product.w.order(), x, count, op.small(K)});
  product.x = x, product.shared = nullptr;
  return product;
}

// Products that must not depend on the number of rows have one kernel for all.
void launch_product(const OpCall& op, const Product& given) {
  if (given.rows == 0 || given.w.shape()[0] == 0) return;
  const Product product = with_columns_in_order(op, given);
  if (is_few(op, product)) launch_few(op, {&product, 1});
  else launch_matrix_product(op, product);
}

void launch_tiles(const OpCall& op, const MatrixTile& tile, const Product& product) {
  constexpr ExpertTiles one_matrix{nullptr, nullptr, 1};
  const int64_t N = product.w.shape()[0], K = product.w.shape()[1];
  with_array(product.w, [&](auto w) {
    op.launch(matrix_kernel(op, tile, product.w), tile.of(product), tile.threads,
              TileLinear<decltype(w)>{{product.x, w, product.bias, product.y, op.small(product.rows), op.small(N), op.small(K)}, one_matrix});
  });
}

void launch_products(const OpCall& op, std::span<const Product> products) {
  std::vector<Product> few, many;
  for (const Product& product : products)
    if (product.w.order() || product.rows == 0 || product.w.shape()[0] == 0) launch_product(op, product);
    else (is_few(op, product) ? few : many).push_back(product);
  launch_few(op, few);
  launch_matrix_products(op, many);
}

TilesByExpert tiles_by_expert(const OpCall& op, const int32_t* ids, int64_t pairs, std::span<const GpuWeight* const> weights) {
  if (pairs <= most_few) return {};
  const int64_t experts = weights.front()->shape()[0];
  const MatrixTile* const tile = tile_of_pairs(op, pairs, experts, weights);
  if (!tile) return {};
  const int64_t tiles = (pairs + std::min(pairs, experts) * (tile->rows - 1)) / tile->rows;  // at most
  int32_t *const rows = op.scratch<int32_t>(tiles * tile->rows), *const of_tile = op.scratch<int32_t>(tiles);
  const ExpertOrder args{ids, op.scratch<int32_t>(experts), rows, of_tile, op.small(pairs), op.small(experts),
                         op.small(tiles), op.small(tile->rows), op.fault, op.index};
  op.launch("expert_counts", experts, ORDER_THREADS, args);
  op.launch("expert_order", experts, ORDER_THREADS, args);
  return {tile, rows, of_tile, tiles};
}

static void launch_expert_tiles(const OpCall& op, const ExpertProduct& product) {
  const TilesByExpert& by_expert = product.tiles;
  const MatrixTile& tile = *by_expert.tile;
  const int64_t N = product.w.shape()[1], K = product.w.shape()[2];
  with_array(product.w, [&](auto w) {
    op.launch(matrix_kernel(op, tile, product.w), by_expert.tiles * ((N + tile.columns - 1) / tile.columns), tile.threads,
              TileLinear<decltype(w)>{{product.x, w, nullptr, product.y, op.small(by_expert.tiles * tile.rows), op.small(N), op.small(K)},
                                      {by_expert.rows, by_expert.of_tile, op.small(product.chosen)}});
  });
}

static ExpertPairs expert_pairs(const OpCall& op, const ExpertProduct& product) {
  const int64_t* const shape = product.w.shape().data();
  return {product.x,           product.ids,           product.y,           op.small(product.rows), op.small(product.chosen),
          op.small(shape[0]), op.small(shape[1]), op.small(shape[2]), op.fault,               op.index};
}

static int64_t outputs_of(const ExpertProduct& product) { return product.rows * product.chosen * product.w.shape()[1]; }

void launch_expert_product(const OpCall& op, const ExpertProduct& product) {
  if (outputs_of(product) == 0) return;
  if (product.tiles.tile && launch_matrix_experts(op, product, nullptr)) return;
  if (product.tiles.tile) return launch_expert_tiles(op, product);
  with_array(product.w, [&](auto w) {
    op.launch(kernel_for("expert_linear", product.w), blocks_of_warps(outputs_of(product)), few_threads,
              ExpertLinear<decltype(w)>{expert_pairs(op, product), w});
  });
}

void launch_expert_gate_up(const OpCall& op, const ExpertProduct& gate, const GpuWeight& up) {
  const int64_t outputs = outputs_of(gate);
  if (outputs == 0) return;
  const bool together = &gate.w.format() == &up.format();
  if (together && gate.tiles.tile && launch_matrix_experts(op, gate, &up)) return;
  if (together && !gate.tiles.tile)
    return with_array(gate.w, [&](auto w) {
      op.launch(kernel_for("expert_gate_up", gate.w), blocks_of_warps(outputs), few_threads,
                ExpertGateUp<decltype(w)>{expert_pairs(op, gate), w, array_of<decltype(w)>(up)});
    });
  float* const ups = op.scratch<float>(outputs);
  launch_expert_product(op, gate);
  launch_expert_product(op, {gate.x, up, gate.ids, ups, gate.rows, gate.chosen, gate.tiles});
  launch_map(op, "swiglu", Gated{gate.y, ups, gate.y, outputs});
}

ProductInput product_input(const OpCall& op, const quern::Floats& x) {
  if (!op.folded_x) return {x.data, {}, {}};
  return {op.folded_x->x ? op.folded_x->x : x.data, op.folded_x->norm, op.folded_x->rows};
}

Product linear_product(const OpCall& op) {
  const quern::Floats x = op.floats(LinearOp::X, 2), y = op.floats(LinearOp::Y, 2);
  const GpuWeight& w = op.weight(LinearOp::W, 2);
  const int64_t N = w.shape()[0], K = w.shape()[1];
  op.need(x.width() == K && y.width() == N && x.shape[0] == y.shape[0], "x must be [T, K], w [N, K], y [T, N]");
  return {x.data, w, op.vector(LinearOp::BIAS, N), y.data, x.shape[0], op.flag(LinearOp::BATCH_INVARIANT)};
}

void linear(const OpCall& op) {
  ProductInput input = product_input(op, op.floats(LinearOp::X, 2));
  Product product = linear_product(op);
  product.x = input.x, product.shared = &input.rows, product.norm = input.norm;
  launch_product(op, product);
}

void expert_linear(const OpCall& op) {
  const quern::Floats x = op.floats(ExpertLinearOp::X, 2), y = op.floats(ExpertLinearOp::Y, 3);
  const GpuWeight& w = op.weight(ExpertLinearOp::W, 3);
  const int64_t *shape = w.shape().data(), k = y.shape[1];
  op.need(x.width() == shape[2] && y.width() == shape[1] && y.shape[0] == x.shape[0] &&
              op.operand(ExpertLinearOp::IDS).count == x.shape[0] * k,
          "x must be [R, K], w [E, N, K], ids [R, k], y [R, k, N]");
  const int32_t* const ids = op.ids(ExpertLinearOp::IDS);
  launch_expert_product(op, {x.data, w, ids, y.data, x.shape[0], k, tiles_by_expert(op, ids, x.shape[0] * k, std::array{&w})});
}

// A product of its windows.
void conv1d(const OpCall& op) {
  const quern::Floats x = op.floats(Conv1dOp::X, 2), y = op.floats(Conv1dOp::Y, 2);
  const GpuWeight& w = op.weight(Conv1dOp::W, 2);
  const int64_t N = w.shape()[0], K = w.shape()[1], C = x.width();
  const int64_t stride = op.integer(Conv1dOp::STRIDE), padding = op.integer(Conv1dOp::PADDING);
  op.need(C > 0 && K % C == 0 && stride > 0 && padding >= 0 && y.width() == N, "w must be [N, W·C]");
  const int64_t windows = std::max<int64_t>(-1, x.shape[0] + 2 * padding - K / C) / stride + 1;
  op.need(y.shape[0] <= windows, "y has more rows than there are windows");
  const float* const bias = op.vector(Conv1dOp::BIAS, N);
  if (y.count == 0) return;
  float* const rows = op.scratch<float>(y.shape[0] * K);
  op.launch("unfold", y.shape[0], threads_of_row(K),
            Unfold{x.data, rows, op.small(x.shape[0]), op.small(C), op.small(K), op.integer(Conv1dOp::STRIDE),
                   op.integer(Conv1dOp::PADDING)});
  launch_product(op, {rows, w, bias, y.data, y.shape[0]});
}

}  // namespace quern::gpu
