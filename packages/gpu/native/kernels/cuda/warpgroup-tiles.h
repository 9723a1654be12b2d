// Tiles of products by warpgroups: for their kernels, and for code that launches them.
#pragma once
#include "../../dialect/hopper.h"
#include "product-operands.h"

namespace quern {
namespace gpu {

struct WarpgroupProduct {
  TensorMap x, w; // [rows, depth], [columns, depth]; boxes of 64 values of Tile::rows and Tile::columns rows, swizzled by 128 bytes
  ProductBf16 of;
};

// A block: one warpgroup copies, two multiply 64 rows each. Its shared memory: stages of x [rows, 64] and w [columns, 64], then barriers.
template <int COLUMNS, int STAGES>
struct WarpgroupTile {
  enum {
    rows = 128, columns = COLUMNS, stages = STAGES, threads = 3 * WARPGROUP,
    multipliers = 2,                          // warpgroups
    stage = (rows + columns) * STEP_EIGHTS,   // Uint4s
    step_bytes = stage * 16,
    places = stages * stage + stages,         // two barriers of 8 bytes for a stage
    shared_bytes = places * 16
  };
};
using WarpgroupTile128x256 = WarpgroupTile<256, 4>;
using WarpgroupTile128x128 = WarpgroupTile<128, 6>;

} // namespace gpu
} // namespace quern
