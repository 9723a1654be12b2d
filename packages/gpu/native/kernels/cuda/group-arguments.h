// What code that launches attention-group.h needs.
#pragma once
#include "../attention.h"

namespace quern {
namespace gpu {

constexpr int PACKED = 16; // rows of a sequence × heads that share a key head, of a block

struct GroupAttention {
  Attention of;
  int group;        // heads that share a key head
  int tile_per_row; // the grid: a tile per row; else rows · group / 16 + sequences
};

// Warps of a block: what 48 KiB of shared memory allow with two chunks of 16 keys each. wide: heads of more than 64 elements.
enum GroupWarps { GROUP_WARPS = 4, GROUP_WARPS_WIDE_HALVES = 2 };

} // namespace gpu
} // namespace quern
