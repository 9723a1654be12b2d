// Rows of a matrix as bf16, for product-bf16.h. A block per row.
#pragma once
#include "product-operands.h"
#include "tile-rows.h"

namespace quern {
namespace gpu {

template <class Matrix>
FUNCTION void bf16_rows(const Bf16Rows<Matrix>& args) {
  const int row = block_index();
  const bool wide = RowEight<Matrix>::loads_wide(args.matrix, args.depth);
  for (int k = thread_index() * 8; k < args.pitch; k += block_threads() * 8) {
    RowEight<Matrix> stored;
    stored.load(args.matrix, (int64_t(args.first) + row) * args.depth + k, wide, args.depth - k);
    Eight eight = k < args.depth ? stored.values(k) : Eight{};
    as<Uint4>(args.values + (int64_t(row) * args.pitch + k))[0] = take_part<true>(eight);
  }
}

#define BF16_ROWS(Weights, name) \
  KERNEL(bf16_rows_##name, Bf16Rows<Weights>) { bf16_rows(args); }
EVERY_WEIGHT(BF16_ROWS)
#undef BF16_ROWS

} // namespace gpu
} // namespace quern
