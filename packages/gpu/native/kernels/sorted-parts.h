// Parts of a row with their places in falling order: the place at which a running sum over the row reaches a number is found by
// bisection. In a search, thread p has part p.
#pragma once
#include "row-parts.h"
#include "select.h"

namespace quern {
namespace gpu {

CONSTANT int MOST_PARTS = 512; // of a row: indices below 2²⁰

// The places of elements [first, first + count) in falling order, then zeros: bitonic sort (Batcher 1968).
FUNCTION void sort_part(Row row, RowPart part, Shared<Place> places) {
  for (int i = thread_index(); i < ROW_PART; i += block_threads()) places[i] = i < part.count ? place_of(row, part.first + i) : 0;
  for (int run = 2; run <= ROW_PART; run *= 2)
    for (int apart = run / 2; apart > 0; apart /= 2) {
      barrier();
      for (int pair = thread_index(); pair < ROW_PART / 2; pair += block_threads()) {
        const int i = 2 * pair - (pair & (apart - 1)), j = i + apart;
        const Place a = places[i], b = places[j];
        const bool swapped = (i & run) == 0 ? a < b : a > b;
        if (!swapped) continue;
        places[i] = b;
        places[j] = a;
      }
    }
  barrier();
}

struct SortedPart {
  Global<const Place> places; // [count]
  int count;
};

// How many places of a part are not below `low`, if there are `least` to `most`.
FUNCTION int count_from(Place low, SortedPart part, int least, int most) {
  while (least < most) {
    const int middle = (least + most) / 2;
    if (part.places[middle] >= low) least = middle + 1;
    else most = middle;
  }
  return least;
}

// The sum over the first `count` places of a part: each counts 1, or sums of amounts are known.
struct Counts {
  FUNCTION uint64_t through(int count) const { return static_cast<uint64_t>(count); }
};
struct Sums {
  Global<const uint64_t> sums; // [count]
  FUNCTION uint64_t through(int count) const { return count > 0 ? sums[count - 1] : 0; }
};

// The sum over the places of the row that are not below `low`.
template <class Amounts>
FUNCTION uint64_t sum_from(Place low, SortedPart part, Amounts amounts, Shared<uint64_t> partial) {
  return block_running_sum(amounts.through(count_from(low, part, 0, part.count)), partial).all;
}

// The place among [least, most) of the parts, together `left.all` of them, at which their running sum reaches `target`.
template <class Amounts>
FUNCTION Place listed_with_sum(uint64_t target, SortedPart part, Amounts amounts, int least, int most, RunningSum left, SelectSpace space) {
  int to = int(left.before);
  for (int i = least; i < most; i++, to++) {
    space.places[to] = part.places[i];
    space.amounts[to] = amounts.through(i + 1) - amounts.through(i);
  }
  barrier();
  return reached_in_list(target, int(left.all), space);
}

// The place at which the running sum over the row reaches `target`: from 1 to the sum over all. A bit of it per round, until few places
// are left: they are listed.
template <class Amounts>
FUNCTION Place place_with_sum(uint64_t target, SortedPart part, Amounts amounts, SelectSpace space) {
  constexpr int index_bits = 20;
  Place found = 0;
  int least = 0, most = part.count; // own places above the one looked for, and with it
  for (int bit = 63;; bit--) {
    if (bit == 31) found |= ~Place(0) >> 32 >> index_bits << index_bits; // the same in all places
    if (bit == 31) bit = index_bits - 1;
    if (bit % 4 == 3) { // at bit 3 at most 16 places are left
      const RunningSum left = block_running_sum(static_cast<uint64_t>(most - least), space.partial);
      if (left.all <= LIST) {
        const uint64_t above = block_running_sum(amounts.through(least), space.partial).all;
        return listed_with_sum(target - above, part, amounts, least, most, left, space);
      }
    }
    const Place tried = found | Place(1) << bit;
    const int count = count_from(tried, part, least, most);
    if (block_running_sum(amounts.through(count), space.partial).all >= target) {
      found = tried;
      most = count;
    } else {
      least = count;
    }
  }
}

} // namespace gpu
} // namespace quern
