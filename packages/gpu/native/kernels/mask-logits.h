// Logits whose bit is 0 become −∞. A block per row. y may be x.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct MaskLogits {
  Global<const float> x;  // [S, V]
  Global<const int> bits; // [S, ⌈V / 32⌉]: bit v % 32 of word v / 32
  Global<float> y;        // [S, V]
  int V;
};

KERNEL(mask_logits, MaskLogits) {
  const long row = block_index();
  const Global<const float> x = args.x + row * args.V;
  const Global<const int> bits = args.bits + row * ((args.V + 31) / 32);
  const Global<float> y = args.y + row * args.V;
  for (int v = thread_index(); v < args.V; v += block_threads())
    y[v] = unsigned(bits[v / 32]) >> v % 32 & 1 ? x[v] : -infinity();
}

} // namespace gpu
} // namespace quern
