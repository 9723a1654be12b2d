// The index of the largest element; 0 if there is no number above −∞. A block per row.
#pragma once
#include "places.h"

namespace quern {
namespace gpu {

struct Argmax {
  Global<const float> x; // [rows, width]
  Global<int> y;         // [rows]
  int width;
};

KERNEL(argmax, Argmax) {
  SHARED(unsigned long, partial, WARP);
  const Row row = {args.x + long(block_index()) * args.width, args.width, false};
  const Place first = first_place(row, partial);
  if (thread_index() == 0) args.y[block_index()] = index_of(first);
}

} // namespace gpu
} // namespace quern
