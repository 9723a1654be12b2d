// Rotates pairs (a, b) of each head: (a · cos − b · sin, a · sin + b · cos), by a table of rope_table. Elements behind the pairs
// stay unchanged. A block per row; y may be x.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct Rope {
  Global<const float> x, table; // [blocks, heads, d], [blocks, 2 · half]
  Global<float> y;              // [blocks, heads, d]
  int heads, d, pairs;
  int halves; // pairs are (i, i + half); 0: (2i, 2i + 1)
};

// Item `item` of one head: a pair, or one of the elements behind the pairs. `scale(i)` is the factor of element i. Y: a pointer to
// device or shared memory.
template <class Y, class Scale>
FUNCTION void rotate_item(Global<const float> x, Global<const float> angles, Y y, int item, int pairs, bool halves, Scale scale) {
  if (item >= pairs) {
    y[item + pairs] = x[item + pairs] * scale.at(item + pairs);
    return;
  }
  const int first = halves ? item : 2 * item, second = halves ? item + pairs : 2 * item + 1;
  const float a = x[first] * scale.at(first), b = x[second] * scale.at(second), cos = angles[item], sin = angles[pairs + item];
  y[first] = fused(a, cos, -(b * sin));
  y[second] = fused(a, sin, b * cos);
}

struct Unscaled {
  FUNCTION float at(int) const { return 1; }
};

KERNEL(rope, Rope) {
  const long row = long(block_index()) * args.heads * args.d;
  const Global<const float> angles = args.table + long(block_index()) * 2 * args.pairs;
  const int items = args.d - args.pairs; // of a head: its pairs, then its other elements
  for (int i = thread_index(); i < args.heads * items; i += block_threads()) {
    const long head = row + long(i / items) * args.d;
    rotate_item(args.x + head, angles, args.y + head, i % items, args.pairs, args.halves != 0, Unscaled());
  }
}

} // namespace gpu
} // namespace quern
