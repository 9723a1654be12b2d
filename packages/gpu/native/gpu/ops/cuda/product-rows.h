// Products of 9 to 128 rows that round x to bf16 (kernels/cuda/linear-rows.h).
#pragma once
#include "gpu/ops/products.h"

namespace quern::gpu {

// Whether products that round x to one bf16 take launch_row_product.
bool has_some_rows(const Product& product);
void launch_row_product(const OpCall& op, const Product& product);

// A block has `height` rows; `parts` blocks share K.
struct RowChoice {
  int height, columns, threads;
  int64_t tiles; // of 16 rows: whole blocks
  int64_t parts;
};
RowChoice choose_row_blocks(int64_t rows, int64_t columns, int64_t depth, int64_t processors);

} // namespace quern::gpu
