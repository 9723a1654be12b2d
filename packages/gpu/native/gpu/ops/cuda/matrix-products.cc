// Products on tensor cores.
#include <algorithm>

#include "gpu/ops/cuda/product-large.h"
#include "gpu/ops/cuda/product-rows.h"
#include "gpu/ops/matrices.h"
#include "kernels/few-matrices.h"

namespace quern::gpu {

// kernels/cuda/linear-tiles.h
static constexpr MatrixTile large_tile{"linear_tile_", 128, 128, 256}, strip{"linear_strip_", 32, 64, 256};
static constexpr MatrixTile rows_of_expert{"linear_rows_16", expert_rows, 0, 0};  // launch_expert_rows
static constexpr int64_t enough_tiles = 96;  // about the processors of a GPU for data centres

// Numbers of bf16 that x becomes. 3: products of floats.
//            f32  f16  bf16  blocks
//   exact     3    3    3      3
//   standard  3    2    1      1
//   fast      3    1    1      1
static int parts_of_x(Precision precision, const WeightFormat& format) {
  if (precision == Precision::exact || &format == &f32_format()) return 3;
  return precision == Precision::standard && format.name == std::string("f16") ? 2 : 1;
}

std::string matrix_kernel(const OpCall& op, const MatrixTile& tile, const GpuWeight& w) {
  return kernel_for((tile.kernel + std::to_string(parts_of_x(op.precision, w.format()))).c_str(), w);
}

static bool rounds_once(const OpCall& op, const Product& product) { return parts_of_x(op.precision, product.w.format()) == 1; }

static bool takes_rows(const OpCall& op, const Product& product) { return rounds_once(op, product) && has_some_rows(product); }
bool takes_few_rows(const OpCall& op, const Product& product) { return takes_rows(op, product); }

void launch_matrix_product(const OpCall& op, const Product& product) {
  if (takes_rows(op, product)) launch_row_products(op, {&product, 1});
  else if (rounds_once(op, product) && is_large(product)) launch_large_product(op, product);
  else launch_tiles(op, large_tile.of(product) >= enough_tiles ? large_tile : strip, product);
}

void launch_matrix_products(const OpCall& op, std::span<const Product> products) {
  std::vector<Product> of_rows;
  for (const Product& product : products)
    if (takes_rows(op, product)) of_rows.push_back(product);
    else launch_matrix_product(op, product);
  const std::span<const Product> all = of_rows;
  for (size_t first = 0; first < all.size(); first += MOST_MATRICES)
    launch_row_products(op, all.subspan(first, std::min<size_t>(MOST_MATRICES, all.size() - first)));
}

bool launch_matrix_experts(const OpCall& op, const ExpertProduct& product, const GpuWeight* up) {
  if (product.tiles.tile != &rows_of_expert) return false;
  launch_expert_rows(op, product, up);
  return true;
}

bool launch_matrix_gate_up(const OpCall& op, const Product& gate, const GpuWeight& up) {
  const Product ups{gate.x, up, nullptr, gate.y, gate.rows, gate.invariant};
  if (&gate.w.format() != &up.format() || !takes_rows(op, gate) || !takes_rows(op, ups)) return false;
  launch_row_gate_up(op, gate, up);
  return true;
}

// For the first of the weights that takes fragments; others take the rows.
std::optional<FoldedX> launch_matrix_norm(const OpCall& op, const Product& product, const SummedNorm& norm,
                                          std::span<const GpuWeight* const> weights) {
  const auto takes_fragments = [&](const GpuWeight* w) { return takes_rows(op, {nullptr, *w, nullptr, nullptr, product.rows}); };
  const auto first = std::find_if(weights.begin(), weights.end(), takes_fragments);
  if (first == weights.end() || !takes_rows(op, product)) return {};
  const bool all = std::all_of(weights.begin(), weights.end(),
                               [&](const GpuWeight* w) { return takes_fragments(w) && share_fragments(*w, **first); });
  return launch_row_norm(op, product, norm, **first, !all);
}

// From half a pair per expert on, an expert's weights are read less often than once per pair, to the two launches that sort.
const MatrixTile* tile_of_pairs(const OpCall& op, int64_t pairs, int64_t experts, std::span<const GpuWeight* const> weights) {
  const auto takes_rows = [&](const GpuWeight* w) { return parts_of_x(op.precision, w->format()) == 1 && has_expert_rows(*w); };
  if (pairs < expert_rows * experts && std::all_of(weights.begin(), weights.end(), takes_rows)) return 2 * pairs < experts ? nullptr : &rows_of_expert;
  if (pairs < enough_pairs * experts) return nullptr;
  return pairs >= large_tile.rows * experts ? &large_tile : &strip;
}

}  // namespace quern::gpu
