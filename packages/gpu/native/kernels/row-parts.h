// Long rows in parts of ROW_PART elements: a block per row and part, then a block per row. Parts have one size, so results do not
// depend on the number of rows.
#pragma once
#include "places.h"

namespace quern {
namespace gpu {

CONSTANT int ROW_PART = 2048;

struct RowPart {
  int row, first, count; // elements [first, first + count)
};

FUNCTION RowPart row_part(int width, int parts) {
  const int first = block_index() % parts * ROW_PART, left = width - first;
  return {block_index() / parts, first, left < ROW_PART ? left : ROW_PART};
}

// The first place of a row, from those of its parts.
FUNCTION Place first_of(Global<const Place> firsts, int parts, Shared<uint64_t> partial) {
  Place first = 0;
  for (int p = thread_index(); p < parts; p += block_threads())
    if (firsts[p] > first) first = firsts[p];
  return block_integer_max(first, partial);
}

} // namespace gpu
} // namespace quern
