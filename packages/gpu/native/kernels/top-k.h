// The k largest elements, in falling order. A block per row. Made for small k: time grows with k / LIST.
#pragma once
#include "select.h"

namespace quern {
namespace gpu {

struct TopK {
  Global<const float> x; // [rows, width]
  Global<float> values;  // [rows, k]
  Global<int> indices;   // [rows, k]
  int width, k;          // 1 ≤ k ≤ width
};

KERNEL(top_k, TopK) {
  SHARED(unsigned long, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(unsigned long, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const Row row = {args.x + long(block_index()) * args.width, args.width, false};
  const Global<float> values = args.values + long(block_index()) * args.k;
  const Global<int> indices = args.indices + long(block_index()) * args.k;
  Span left = {0, ~Place(0)};
  for (int first = 0; first < args.k; first += LIST) {
    const int count = args.k - first < LIST ? args.k - first : LIST;
    const Place last = place_reaching(static_cast<unsigned long>(count), row, left, Ones{}, space);
    const Span taken = {last, left.high};
    const RunningSum counts = block_running_sum(static_cast<unsigned long>(own_count(row, taken)), partial);
    list_span(row, taken, Ones{}, int(counts.before), space);
    for (int i = thread_index(); i < count; i += block_threads()) {
      const int rank = first + int(amount_before(places[i], count, space)), index = index_of(places[i]);
      values[rank] = without_nan(row.x[index]);
      indices[rank] = index;
    }
    barrier();
    left.high = last - 1;
  }
}

} // namespace gpu
} // namespace quern
