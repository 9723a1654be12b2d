// Products on tensor cores.
#include "gpu/ops/cuda/product-large.h"
#include "gpu/ops/cuda/product-rows.h"
#include "gpu/ops/matrices.h"

namespace quern::gpu {

// kernels/cuda/linear-tiles.h
static constexpr MatrixTile large_tile{"linear_tile_", 128, 128, 256}, strip{"linear_strip_", 32, 64, 256};
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

void launch_matrix_product(const OpCall& op, const Product& product) {
  const bool rounds_once = parts_of_x(op.precision, product.w.format()) == 1;
  if (rounds_once && has_some_rows(product)) launch_row_product(op, product);
  else if (rounds_once && is_large(product)) launch_large_product(op, product);
  else launch_tiles(op, large_tile.of(product) >= enough_tiles ? large_tile : strip, product);
}

const MatrixTile* tile_of_pairs(const OpCall&, int64_t pairs, int64_t experts) {
  return pairs >= large_tile.rows * experts ? &large_tile : &strip;
}

}  // namespace quern::gpu
