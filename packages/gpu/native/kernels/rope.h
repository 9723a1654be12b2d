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

// One item of a head: a pair and its angle, or an element behind the pairs (b, cos and sin are 0).
struct RopeItem {
  float a, b, cos, sin;
};

FUNCTION int first_of_item(int item, int pairs, bool halves) { return item >= pairs ? item + pairs : halves ? item : 2 * item; }
FUNCTION int second_of_item(int item, int pairs, bool halves) { return halves ? item + pairs : 2 * item + 1; }

FUNCTION RopeItem load_item(Global<const float> x, Global<const float> angles, int item, int pairs, bool halves) {
  const float a = x[first_of_item(item, pairs, halves)];
  if (item >= pairs) return {a, 0, 0, 0};
  return {a, x[second_of_item(item, pairs, halves)], angles[item], angles[pairs + item]};
}

// Y: a pointer to device or shared memory.
template <class Y>
FUNCTION void put_rotated(RopeItem loaded, Y y, int item, int pairs, bool halves) {
  y[first_of_item(item, pairs, halves)] = item >= pairs ? loaded.a : fused(loaded.a, loaded.cos, -(loaded.b * loaded.sin));
  if (item < pairs) y[second_of_item(item, pairs, halves)] = fused(loaded.a, loaded.sin, loaded.b * loaded.cos);
}

KERNEL(rope, Rope) {
  const int64_t row = int64_t(block_index()) * args.heads * args.d;
  const Global<const float> angles = args.table + int64_t(block_index()) * 2 * args.pairs;
  const int items = args.d - args.pairs; // of a head: its pairs, then its other elements
  for (int i = thread_index(); i < args.heads * items; i += block_threads()) {
    const int64_t head = row + int64_t(i / items) * args.d;
    const RopeItem item = load_item(args.x + head, angles, i % items, args.pairs, args.halves != 0);
    put_rotated(item, args.y + head, i % items, args.pairs, args.halves != 0);
  }
}

} // namespace gpu
} // namespace quern
