// Logits whose bit is 0 become −∞. A block per row and part. y may be x.
#pragma once
#include "row-parts.h"

namespace quern {
namespace gpu {

struct MaskLogits {
  Global<const float> x;  // [S, V]
  Global<const int> bits; // [S, ⌈V / 32⌉]: bit v % 32 of word v / 32
  Global<float> y;        // [S, V]
  int V, parts;
};

KERNEL_OF(mask_logits, MaskLogits, 512, 1) {
  const RowPart part = row_part(args.V, args.parts);
  const Global<const float> x = args.x + int64_t(part.row) * args.V;
  const Global<const int> bits = args.bits + int64_t(part.row) * ((args.V + 31) / 32);
  const Global<float> y = args.y + int64_t(part.row) * args.V;
  for (int v = part.first + thread_index(); v < part.first + part.count; v += block_threads())
    y[v] = unsigned(bits[v / 32]) >> v % 32 & 1 ? x[v] : -infinity();
}

} // namespace gpu
} // namespace quern
