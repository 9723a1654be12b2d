// Rotates pairs (a, b) of each head: (a · cos − b · sin, a · sin + b · cos), by a table of rope_table. Elements behind the pairs
// stay unchanged. A block per row; y may be x.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct Rope {
  Global<const float> x, table; // [blocks, heads, d], [blocks, 2 · half]
  Global<float> y;              // [blocks, heads, d]
  int heads, d, half;
  int halves; // pairs are (i, i + half); 0: (2i, 2i + 1)
};

KERNEL(rope, Rope) {
  const long row = long(block_index()) * args.heads * args.d;
  const Global<const float> angles = args.table + long(block_index()) * 2 * args.half;
  const int items = args.d - args.half; // of a head: its pairs, then its other elements
  for (int i = thread_index(); i < args.heads * items; i += block_threads()) {
    const int item = i % items;
    const Global<const float> x = args.x + row + long(i / items) * args.d;
    const Global<float> y = args.y + row + long(i / items) * args.d;
    if (item >= args.half) {
      y[item + args.half] = x[item + args.half];
      continue;
    }
    const int first = args.halves ? item : 2 * item, second = args.halves ? item + args.half : 2 * item + 1;
    const float a = x[first], b = x[second], cos = angles[item], sin = angles[args.half + item];
    y[first] = fused(a, cos, -(b * sin));
    y[second] = fused(a, sin, b * cos);
  }
}

} // namespace gpu
} // namespace quern
