// The k largest elements, in falling order. Made for small k: time grows with k / LIST.
#pragma once
#include "select.h"
#include "sorted-parts.h"

namespace quern {
namespace gpu {

struct TopK {
  Global<const float> x; // [rows, width]
  Global<float> values;  // [rows, k]
  Global<int> indices;   // [rows, k]
  int width, k;          // 1 ≤ k ≤ width
};

// Results `first` and following: the listed places, in falling order.
FUNCTION void put_listed(ARGUMENTS const TopK& args, int first, int listed, SelectSpace space) {
  const int64_t row = block_index();
  for (int i = thread_index(); i < listed; i += block_threads()) {
    const int64_t rank = row * args.k + first + int(amount_before(space.places[i], listed, space));
    const int index = index_of(space.places[i]);
    args.values[rank] = without_nan(args.x[row * args.width + index]);
    args.indices[rank] = index;
  }
  barrier();
}

// A block per row.
KERNEL_OF(top_k, TopK, 512, 1) {
  SHARED(uint64_t, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(uint64_t, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const Row row = {args.x + int64_t(block_index()) * args.width, args.width, false};
  Span left = {0, ~Place(0)};
  for (int first = 0; first < args.k; first += LIST) {
    const int count = args.k - first < LIST ? args.k - first : LIST;
    const Place last = place_reaching(static_cast<uint64_t>(count), row, left, Ones{}, space);
    const Span taken = {last, left.high};
    const RunningSum counts = block_running_sum(static_cast<uint64_t>(own_count(row, taken)), partial);
    list_span(row, taken, Ones{}, int(counts.before), space);
    put_listed(args, first, count, space);
    left.high = last - 1;
  }
}

struct TopKParts {
  TopK all;
  Global<Place> places; // [rows, parts, kept]: the first places of each part, in falling order
  int parts, kept;      // kept: k, but at most ROW_PART
};

FUNCTION SortedPart kept_part(ARGUMENTS const TopKParts& args, int row, int part) {
  const int left = args.all.width - part * ROW_PART, count = part >= args.parts ? 0 : left < args.kept ? left : args.kept;
  return {args.places + (int64_t(row) * args.parts + part) * args.kept, count};
}

// A block per row and part.
KERNEL_OF(top_k_parts, TopKParts, 512, 1) {
  SHARED(Place, places, ROW_PART);
  const RowPart part = row_part(args.all.width, args.parts);
  const Row row = {args.all.x + int64_t(part.row) * args.all.width, args.all.width, false};
  sort_part(row, part, places);
  const Global<Place> kept = args.places + int64_t(block_index()) * args.kept;
  for (int i = thread_index(); i < part.count && i < args.kept; i += block_threads()) kept[i] = places[i];
}

// A block per row, a thread per part.
KERNEL_OF(top_k_merge, TopKParts, 1024, 1) {
  SHARED(uint64_t, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(uint64_t, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const SortedPart part = kept_part(args, block_index(), thread_index());
  int done = 0; // of the part
  for (int first = 0; first < args.all.k; first += LIST) {
    const int listed = args.all.k - first < LIST ? args.all.k - first : LIST;
    const Place last = place_with_sum(static_cast<uint64_t>(first + listed), part, Counts{}, space);
    const int end = count_from(last, part, done, part.count);
    int to = int(block_running_sum(static_cast<uint64_t>(end - done), partial).before);
    for (; done < end; done++, to++) {
      places[to] = part.places[done];
      amounts[to] = 1;
    }
    barrier();
    put_listed(args.all, first, listed, space);
  }
}

} // namespace gpu
} // namespace quern
