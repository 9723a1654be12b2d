// What a platform computes with its units for matrices: tensor cores (cuda/), matrices of simdgroups (metal/).
#pragma once
#include "gpu/ops/attention.h"
#include "gpu/ops/folded-norm.h"
#include "gpu/ops/products.h"
#include "gpu/rates.h"

namespace quern::gpu {

// A tile of outputs that a block computes: the kernel's name without the format's.
struct MatrixTile {
  const char* kernel;
  int64_t rows, columns;
  int threads;
  int64_t of(const Product& product) const {
    return (product.rows + rows - 1) / rows * ((product.w.shape()[0] + columns - 1) / columns);
  }
};
// The kernel of a tile for this weight.
std::string matrix_kernel(const OpCall& op, const MatrixTile& tile, const GpuWeight& w);

// Whether the units take this product of at most most_few rows (product-few.h) from the kernels that stream weights.
bool takes_few_rows(const OpCall& op, const Product& product);
// Products that are not few, and of any number of rows if `invariant`. w has its columns in order.
void launch_matrix_product(const OpCall& op, const Product& product);
// The same of one x, in as few launches as may be.
void launch_matrix_products(const OpCall& op, std::span<const Product> products);
// y = silu(gate · x) · (up · x) without the products in memory; `gate` has x and y. False: nothing is launched.
bool launch_matrix_gate_up(const OpCall& op, const Product& gate, const GpuWeight& up);
// The product, the norm of its y, and x of the products with `weights` [.., width]. Nothing: nothing is launched.
std::optional<FoldedX> launch_matrix_norm(const OpCall& op, const Product& product, const SummedNorm& norm,
                                          std::span<const GpuWeight* const> weights);
// By tiles of one kind.
void launch_tiles(const OpCall& op, const MatrixTile& tile, const Product& product);

// The tile for pairs of a row and an expert, of all `weights` of a mixture; null: none, or too few pairs. Tiles read the weights of an
// expert once for all its pairs, the kernel of few pairs once for each.
inline constexpr int64_t enough_pairs = 4;  // of an expert, on average
const MatrixTile* tile_of_pairs(const OpCall& op, int64_t pairs, int64_t experts, std::span<const GpuWeight* const> weights);
// By tiles that are not those of linear_tile and linear_strip; with `up`: silu(w · x) · (up · x). False: nothing is launched.
bool launch_matrix_experts(const OpCall& op, const ExpertProduct& product, const GpuWeight* up);

// Attention of those shapes that the units take. False: nothing is launched.
bool launch_matrix_attention(const OpCall& op, const Attention& args, const std::string& suffix, bool bf16);
bool launch_matrix_attention(const OpCall& op, const UncachedAttention& args, bool bf16);

// The rates `flops`, `bf16_flops` and `prompt_flops`.
void measure_matrix_rates(const std::shared_ptr<Gpu>& gpu, Precision precision, Rates& rates);

}  // namespace quern::gpu
