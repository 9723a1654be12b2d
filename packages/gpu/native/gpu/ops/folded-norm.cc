#include "gpu/ops/folded-norm.h"

#include <algorithm>

#include "gpu/ops/matrices.h"
#include "gpu/ops/product-few.h"

namespace quern::gpu {

namespace {

using Weights = std::vector<const GpuWeight*>;

// [.., width] each, with columns in order; else none.
Weights weights_of(std::span<const Operand> operands, int64_t width) {
  Weights weights;
  for (const Operand& operand : operands) {
    const auto* const weight = static_cast<const GpuWeight*>(operand.weight.get());
    if (!weight || operand.rank != 2 || weight->order() || operand.shape[0] == 0 || operand.shape[1] != width) return {};
    weights.push_back(weight);
  }
  return weights;
}

bool is_matrix(const Operand& x, int64_t rows, int64_t width) { return x.rank == 2 && x.shape[0] == rows && x.shape[1] == width; }

SummedNorm summed_norm(const OpCall& op, const Product& product) {
  using Op = AddRmsNormOp;
  const quern::Floats a = op.floats(Op::A), b = op.floats(Op::B), sum = op.floats(Op::SUM), y = op.floats(Op::Y);
  op.need(a.same_shape(b) && a.same_shape(sum) && a.same_shape(y), "all operands must have one shape");
  return {a.data == product.y ? b.data : a.data, op.vector(Op::W, a.width()), sum.data, y.data, a.rows(), a.width(), op.number(Op::EPS)};
}

bool are_few(const OpCall& op, const Product& product, const Weights& weights) {
  return is_few(op, product) && std::all_of(weights.begin(), weights.end(), [&](const GpuWeight* w) {
           return is_few(op, {nullptr, *w, nullptr, nullptr, product.rows});
         });
}

FoldedX launch_few_norm(const OpCall& op, Product product, const SummedNorm& norm) {
  const int64_t count = (norm.width + NORM_COLUMNS - 1) / NORM_COLUMNS;
  float *const scaled = op.scratch<float>(norm.rows * norm.width), *const squares = op.scratch<float>(norm.rows * count);
  product.y = norm.sum;
  launch_few(op, product, {norm.residual, norm.w, scaled, squares, op.small(count)});
  return {scaled, {squares, op.small(count), norm.eps}, {}};
}

}  // namespace

std::optional<FoldedX> launch_folded_norm(const OpCall& linear, const OpCall& norm, const PlanOp& next, Folding folding) {
  const Product product = linear_product(linear);
  const SummedNorm summed = summed_norm(norm, product);
  const auto [x, operands] = normed_products(next);
  const Weights weights = weights_of(operands, summed.width);
  if (weights.empty() || product.w.order() || summed.rows != product.rows || !is_matrix(x, summed.rows, summed.width)) return {};
  if (!are_few(linear, product, weights)) return launch_matrix_norm(linear, product, summed, weights);
  if (folding != Folding::at_once) return {};
  return launch_few_norm(linear, product, summed);
}

}  // namespace quern::gpu
