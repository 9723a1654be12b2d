// The index of the largest element; 0 if there is no number above −∞.
#pragma once
#include "row-parts.h"

namespace quern {
namespace gpu {

struct Argmax {
  Global<const float> x; // [rows, width]
  Global<int> y;         // [rows]
  int width;
};

// A block per row.
KERNEL_OF(argmax, Argmax, 1024, 1) {
  SHARED(uint64_t, partial, WARP);
  const Row row = {args.x + int64_t(block_index()) * args.width, args.width, false};
  const Place first = first_place(row, 0, args.width, partial);
  if (thread_index() == 0) args.y[block_index()] = index_of(first);
}

struct FirstPlaces {
  Global<const float> x; // [rows, width]
  Global<Place> firsts;  // [rows, parts]
  int width, parts;
};

// A block per row and part.
KERNEL_OF(first_places, FirstPlaces, 512, 1) {
  SHARED(uint64_t, partial, WARP);
  const RowPart part = row_part(args.width, args.parts);
  const Row row = {args.x + int64_t(part.row) * args.width, args.width, false};
  const Place first = first_place(row, part.first, part.first + part.count, partial);
  if (thread_index() == 0) args.firsts[block_index()] = first;
}

struct ArgmaxMerge {
  Global<const Place> firsts; // [rows, parts]
  Global<int> y;              // [rows]
  int parts;
};

// A block per row.
KERNEL_OF(argmax_merge, ArgmaxMerge, 512, 1) {
  SHARED(uint64_t, partial, WARP);
  const Place first = first_of(args.firsts + int64_t(block_index()) * args.parts, args.parts, partial);
  if (thread_index() == 0) args.y[block_index()] = index_of(first);
}

} // namespace gpu
} // namespace quern
