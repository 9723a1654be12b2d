// sample, with long rows in parts. Sums are the integers of sample.h, so the token is the same. first_places, then a block per row and
// part, then a block per row.
#pragma once
#include "sample.h"
#include "sorted-parts.h"

namespace quern {
namespace gpu {

struct SampleParts {
  Sample all;
  Global<const Place> firsts; // [S, parts]
  Global<uint64_t> totals;    // [S, parts]: weights of a part; for rows in order of the index
  // For the other rows, [S, parts, ROW_PART]: places in falling order; sums of weights through each, at temperature 1 and at the row's.
  Global<Place> places;
  Global<uint64_t> plain_sums, sums;
  int parts;
};

// Sums of weights through each sorted place. A thread has consecutive places.
FUNCTION void put_sums(Shared<Place> places, int count, Weights weights, Global<uint64_t> sums, Shared<uint64_t> partial) {
  const int each = (ROW_PART + block_threads() - 1) / block_threads(), first = thread_index() * each;
  const int end = first + each < count ? first + each : count;
  uint64_t own = 0;
  for (int i = first; i < end; i++) own += amount_of(weights, value_of(places[i]));
  uint64_t sum = block_running_sum(own, partial).before;
  for (int i = first; i < end; i++) {
    sum += amount_of(weights, value_of(places[i]));
    sums[i] = sum;
  }
}

FUNCTION void put_total(Row row, RowPart part, Weights weights, Global<uint64_t> total, Shared<uint64_t> partial) {
  uint64_t own = 0;
  for (int i = thread_index(); i < part.count; i += block_threads()) own += amount_of(weights, row.x[part.first + i]);
  const uint64_t all = block_running_sum(own, partial).all;
  if (thread_index() == 0) total[0] = all;
}

// A block per row and part.
KERNEL_OF(sample_parts, SampleParts, 512, 1) {
  SHARED(uint64_t, partial, WARP);
  SHARED(Place, places, ROW_PART);
  const RowPart part = row_part(args.all.V, args.parts);
  const Settings given = settings_of(args.all, part.row);
  const float highest = value_of(first_of(args.firsts + int64_t(part.row) * args.parts, args.parts, partial));
  if (!right(given, args.all.R) || !draws_token(given, highest)) return;
  const Row row = {args.all.x + int64_t(part.row) * args.all.V, args.all.V, false};
  const Weights weights = {highest, given.temperature, least_order(highest, given.log_min_p)};
  if (given.in_order_of_index()) return put_total(row, part, weights, args.totals + block_index(), partial);
  const int64_t at = int64_t(block_index()) * ROW_PART;
  sort_part(row, part, places);
  for (int i = thread_index(); i < part.count; i += block_threads()) args.places[at + i] = places[i];
  if (given.top_p < 1) put_sums(places, part.count, {highest, 1, 0}, args.plain_sums + at, partial);
  put_sums(places, part.count, weights, args.sums + at, partial);
}

// The part in which the running sum reaches `target`, in order of the index; then the place in it.
FUNCTION int token_by_index(ARGUMENTS const SampleParts& args, Settings given, Weights weights, SelectSpace space) {
  const int64_t row = block_index();
  const int p = thread_index();
  uint64_t own = 0;
  if (p < args.parts) own = args.totals[row * args.parts + p];
  const RunningSum sum = block_running_sum(own, space.partial);
  const uint64_t target = drawn(args.all, given, sum.all);
  if (sum.before < target && target - sum.before <= own) {
    space.places[0] = Place(p);
    space.amounts[0] = target - sum.before;
  }
  barrier();
  const int first = int(space.places[0]) * ROW_PART, left = args.all.V - first, count = left < ROW_PART ? left : ROW_PART;
  const uint64_t of_part = space.amounts[0];
  barrier();
  const Row part = {args.all.x + (row * args.all.V + first), count, true};
  return first + index_of(place_reaching(of_part, part, {~unsigned(count - 1), ~unsigned(0)}, weights, space));
}

// The token among the first places: top-k, then top-p, then min-p.
FUNCTION int token_in_order(ARGUMENTS const SampleParts& args, Settings given, SelectSpace space) {
  const int p = thread_index(), left = args.all.V - p * ROW_PART;
  const int64_t at = (int64_t(block_index()) * args.parts + p) * ROW_PART;
  const SortedPart part = {args.places + at, p >= args.parts ? 0 : left < ROW_PART ? left : ROW_PART};
  const Sums plain = {args.plain_sums + at}, sums = {args.sums + at};
  Place low = least_finite();
  if (given.top_k > 0 && given.top_k < float(sum_from(low, part, Counts{}, space.partial)))
    low = place_with_sum(static_cast<uint64_t>(given.top_k), part, Counts{}, space);
  if (given.top_p < 1)
    low = place_with_sum(nucleus_sum(given.top_p, sum_from(low, part, plain, space.partial)), part, plain, space);
  const uint64_t total = sum_from(low, part, sums, space.partial);
  return index_of(place_with_sum(drawn(args.all, given, total), part, sums, space));
}

// A block per row, a thread per part.
KERNEL_OF(sample_merge, SampleParts, 1024, 1) {
  SHARED(uint64_t, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(uint64_t, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const Settings given = settings_of(args.all, block_index());
  const bool holds = right(given, args.all.R);
  if (!holds && thread_index() == 0) flag(args.all.fault, args.all.op, OUT_OF_RANGE);
  const Place first = first_of(args.firsts + int64_t(block_index()) * args.parts, args.parts, partial);
  const float highest = value_of(first);
  int token = holds && given.temperature == 0 ? index_of(first) : NO_TOKEN;
  if (holds && draws_token(given, highest)) {
    const Weights weights = {highest, given.temperature, least_order(highest, given.log_min_p)};
    token = given.in_order_of_index() ? token_by_index(args, given, weights, space) : token_in_order(args, given, space);
  }
  if (thread_index() == 0) args.all.y[block_index()] = token;
}

} // namespace gpu
} // namespace quern
