// Finds where a running sum over the elements of a row, in their order, reaches a number: without sorting the row. Sums are
// integers, so they do not depend on the number of threads.
#pragma once
#include "places.h"

namespace quern {
namespace gpu {

// A span with at most LIST elements is copied to shared memory.
CONSTANT int LIST = 256;

struct SelectSpace {
  Shared<uint64_t> partial; // [WARP]
  Shared<Place> places;     // [LIST]
  Shared<uint64_t> amounts; // [LIST]
  Shared<Place> found;      // [1]
};

// Amounts: overloads of amount_of(measure, x). Here: each element counts 1.
struct Ones {};
FUNCTION uint64_t amount_of(Ones, float) { return 1; }

FUNCTION int own_count(Row row, Span span) {
  int count = 0;
  for (int i = thread_index(); i < row.width; i += block_threads()) count += holds(span, place_of(row, i));
  return count;
}

template <class Measure>
FUNCTION uint64_t amount_in(Row row, Span span, Measure measure, Shared<uint64_t> partial) {
  uint64_t own = 0;
  for (int i = thread_index(); i < row.width; i += block_threads())
    if (holds(span, place_of(row, i))) own += amount_of(measure, row.x[i]);
  return block_running_sum(own, partial).all;
}

// Copies a span to the list, in any order.
template <class Measure>
FUNCTION void list_span(Row row, Span span, Measure measure, int to, SelectSpace space) {
  for (int i = thread_index(); i < row.width; i += block_threads()) {
    const Place place = place_of(row, i);
    if (!holds(span, place)) continue;
    space.places[to] = place;
    space.amounts[to] = amount_of(measure, row.x[i]);
    to++;
  }
  barrier();
}

// The amount of the listed elements before `place`.
FUNCTION uint64_t amount_before(Place place, int listed, SelectSpace space) {
  uint64_t before = 0;
  for (int i = 0; i < listed; i++)
    if (space.places[i] > place) before += space.amounts[i];
  return before;
}

FUNCTION Place reached_in_list(uint64_t target, int listed, SelectSpace space) {
  for (int i = thread_index(); i < listed; i += block_threads()) {
    const uint64_t before = amount_before(space.places[i], listed, space);
    if (before < target && target - before <= space.amounts[i]) space.found[0] = space.places[i];
  }
  barrier();
  const Place found = space.found[0];
  barrier();
  return found;
}

// The two highest bits in which places of the span differ: bits digit and digit + 1.
FUNCTION int first_digit(Span span) {
  int digit = 62;
  while (digit > 0 && (span.low ^ span.high) >> digit == 0) digit -= 2;
  return digit;
}

// The places of a span with the digit `value`.
FUNCTION Span quarter_of(Span span, int digit, int value) {
  const Place low = ((span.high >> digit & ~Place(3)) + Place(value)) << digit, high = low + ((Place(1) << digit) - 1);
  return {low > span.low ? low : span.low, high < span.high ? high : span.high};
}

// The place at which the running sum from span.high on reaches `target`: from 1 to the sum of the span.
template <class Measure>
FUNCTION Place place_reaching(uint64_t target, Row row, Span span, Measure measure, SelectSpace space) {
  int count = own_count(row, span);
  for (;;) {
    const RunningSum counts = block_running_sum(static_cast<uint64_t>(count), space.partial);
    if (counts.all <= LIST) {
      list_span(row, span, measure, int(counts.before), space);
      return reached_in_list(target, int(counts.all), space);
    }
    const int digit = first_digit(span);
    uint64_t amounts[4] = {0, 0, 0, 0}; // own ones, by digit
    uint64_t own = 0;                   // four counts of 16 bits
    for (int i = thread_index(); i < row.width; i += block_threads()) {
      const Place place = place_of(row, i);
      if (!holds(span, place)) continue;
      const int value = int(place >> digit & 3);
      const uint64_t amount = amount_of(measure, row.x[i]);
      UNROLL
      for (int d = 0; d < 4; d++) amounts[d] += d == value ? amount : 0;
      own += uint64_t(1) << 16 * value;
    }
    int chosen = -1;
    UNROLL
    for (int d = 3; d >= 0; d--) {
      const uint64_t amount = block_running_sum(amounts[d], space.partial).all;
      if (chosen < 0 && target <= amount) chosen = d;
      if (chosen < 0) target -= amount;
    }
    span = quarter_of(span, digit, chosen);
    count = int(own >> 16 * chosen & 0xffff);
  }
}

} // namespace gpu
} // namespace quern
