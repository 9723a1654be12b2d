// Products of 3 to 128 rows that round x to bf16 (kernels/cuda/linear-rows.h).
#pragma once
#include "gpu/ops/folded-norm.h"

namespace quern::gpu {

// Whether products that round x to one bf16 take launch_row_product.
bool has_some_rows(const Product& product);
// Of one x, with columns in order: at most MOST_MATRICES.
void launch_row_products(const OpCall& op, std::span<const Product> products);
// The product, and the norm of its y as fragments for `next`; needs_y: also as rows.
FoldedX launch_row_norm(const OpCall& op, const Product& product, const SummedNorm& norm, const GpuWeight& next, bool needs_y);
// Whether the fragments of x are the same for products with both.
bool share_fragments(const GpuWeight& a, const GpuWeight& b);
// y = silu(gate · x) · (up · x); `gate` has x and y, both have one format.
void launch_row_gate_up(const OpCall& op, const Product& gate, const GpuWeight& up);

// The same of a mixture, whose pairs are in tiles of expert_rows by expert. With `up`: silu(w · x) · (up · x), of one format.
inline constexpr int64_t expert_rows = 16;
bool has_expert_rows(const GpuWeight& w);
void launch_expert_rows(const OpCall& op, const ExpertProduct& product, const GpuWeight* up);

// A block has `height` rows; `parts` blocks share K.
struct RowChoice {
  int height, columns, threads;
  int64_t tiles; // of 16 rows: whole blocks
  int64_t parts;
};
RowChoice choose_row_blocks(int64_t rows, int64_t columns, int64_t depth, int64_t processors);

} // namespace quern::gpu
