// Products on matrices of simdgroups (kernels/metal/linear-tiles.h): products of floats, at every precision. GPUs without them compute
// eight rows at a time.
#include "gpu/ops/matrices.h"
#include "gpu/ops/product-few.h"

namespace quern::gpu {

static constexpr MatrixTile large_tile{"linear_tile", 64, 64, 128}, strip{"linear_strip", 16, 64, 128};
static constexpr int64_t most_strip_rows = 32;

std::string matrix_kernel(const OpCall&, const MatrixTile& tile, const GpuWeight& w) { return kernel_for(tile.kernel, w); }

bool takes_few_rows(const OpCall&, const Product&) { return false; }

int64_t most_few_blocks(const OpCall&, const Product&, FewKernel) { return any_blocks; }

void launch_matrix_product(const OpCall& op, const Product& product) {
  if (!op.gpu().has_matrices()) return launch_eights(op, product);
  launch_tiles(op, product.rows <= most_strip_rows ? strip : large_tile, product);
}

void launch_matrix_products(const OpCall& op, std::span<const Product> products) {
  for (const Product& product : products) launch_matrix_product(op, product);
}

bool launch_matrix_experts(const OpCall&, const ExpertProduct&, const GpuWeight*) { return false; }

bool launch_matrix_gate_up(const OpCall&, const Product&, const GpuWeight&) { return false; }

std::optional<FoldedX> launch_matrix_norm(const OpCall&, const Product&, const SummedNorm&, std::span<const GpuWeight* const>) { return {}; }

const MatrixTile* tile_of_pairs(const OpCall& op, int64_t pairs, int64_t experts, std::span<const GpuWeight* const>) {
  if (!op.gpu().has_matrices() || pairs < enough_pairs * experts) return nullptr;
  return pairs >= most_strip_rows * experts ? &large_tile : &strip;
}

}  // namespace quern::gpu
