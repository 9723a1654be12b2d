// Places: 64-bit integers in the order of a row's elements, all different. The earlier an element, the higher its place.
#pragma once
#include "block-integers.h"

namespace quern {
namespace gpu {

using Place = uint64_t;

// Up to 2²⁰ elements.
struct Row {
  Global<const float> x; // [width]
  int width;
  bool by_index; // otherwise by falling value, ties by index
};

struct Span {
  Place low, high; // both belong to it
};

FUNCTION float without_nan(float x) { return is_nan(x) ? -infinity() : x; }

// Integers in the order of floats. NaN is −∞, and −0 is 0.
FUNCTION unsigned order_of(float x) {
  const unsigned bits = x == 0 ? 0 : to_bits(without_nan(x));
  return bits >> 31 ? ~bits : bits | 1u << 31;
}

FUNCTION Place place_of(Row row, int i) {
  const Place by_index = ~unsigned(i);
  return row.by_index ? by_index : Place(order_of(row.x[i])) << 32 | by_index;
}

FUNCTION int index_of(Place place) { return int(~unsigned(place)); }

// The element of a place by value; −0 as 0.
FUNCTION float value_of(Place place) {
  const unsigned order = unsigned(place >> 32);
  return from_bits(order >> 31 ? order ^ 1u << 31 : ~order);
}

FUNCTION bool holds(Span span, Place place) { return place >= span.low && place <= span.high; }

// The first place of elements [from, end).
FUNCTION Place first_place(Row row, int from, int end, Shared<uint64_t> partial) {
  Place first = 0;
  for (int i = from + thread_index(); i < end; i += block_threads()) {
    const Place place = place_of(row, i);
    if (place > first) first = place;
  }
  return block_integer_max(first, partial);
}

} // namespace gpu
} // namespace quern
