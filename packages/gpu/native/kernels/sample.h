// Draws a token from each row of logits: sample of docs/ops.md. A block per row.
//
// The definition computes in float64. Here:
// - A weight is exp((x − highest) / temperature) in f32. Its argument is exact to more than f32, so an error is about 2⁻²³ of the
//   weight, however small it is.
// - Sums of weights decide which token is drawn, and f32 is too coarse for them. Weights are added as multiples of 2⁻⁴⁴ in 64-bit
//   integers: sums are exact in every order, so the sum over all and the running sum agree. What a weight loses is below 2⁻⁴⁴ of the
//   largest; 2²⁰ of them lose 2⁻²⁴.
// - u and top-p are fractions of 2⁶⁴. Bounds of min-p are compared exactly.
#pragma once
#include "fault-code.h"
#include "select.h"
#include "two-float.h"

namespace quern {
namespace gpu {

struct Sample {
  Global<const float> x, settings;  // [S, V], [S, 4]: temperature, top-k, top-p, ln min-p
  Global<const int> random, draws;  // [R, 2], [S]
  Global<int> y;                    // [S]
  int V, R;                         // V ≤ 2²⁰
  Global<int> fault;                // [2]
  int op;
};

constexpr int NO_TOKEN = -1;

// Weights in units of 2⁻⁴⁴. 0 for elements below `least`, by order_of.
struct Weights {
  float highest, temperature;
  unsigned least;
};

FUNCTION unsigned long amount_of(Weights weights, float x) {
  if (order_of(x) < weights.least) return 0;
  if (x == weights.highest) return 1ul << 44;
  const TwoFloat nats = precise_quotient(exact_sum(x, -weights.highest), weights.temperature);
  if (!(nats.high > -32)) return 0; // below 2⁻⁴⁴; also NaN
  const float weight = exponential(nats.high);
  return static_cast<unsigned long>(fused(weight, nats.low, weight) * float(1ul << 44));
}

// The least order_of(x) with x ≥ highest + log_min_p.
FUNCTION unsigned least_order(float highest, float log_min_p) {
  const TwoFloat bound = exact_sum(highest, log_min_p);
  return order_of(bound.high) + (bound.low > 0 ? 1 : 0);
}

// ⌊a · b / 2⁶⁴⌋
FUNCTION unsigned long high_product(unsigned long a, unsigned long b) {
  const unsigned long low = 0xffffffff, a_low = a & low, a_high = a >> 32, b_low = b & low, b_high = b >> 32;
  const unsigned long first = a_high * b_low + (a_low * b_low >> 32), second = a_low * b_high + (first & low);
  return a_high * b_high + (first >> 32) + (second >> 32);
}

// u · 2⁶⁴
FUNCTION unsigned long uniform(int high, int low) {
  return static_cast<unsigned long>(unsigned(high) >> 5) << 37 | static_cast<unsigned long>(unsigned(low) >> 6) << 11;
}

// p · 2⁶⁴, for p < 1
FUNCTION unsigned long fraction(float p) { return static_cast<unsigned long>(p * 4294967296.f) << 32; }

FUNCTION bool settings_hold(float temperature, float top_k, float top_p, float log_min_p) {
  return temperature >= 0 && temperature < infinity() && top_k >= 0 && top_k == round_even(top_k) && top_p >= 0 && top_p <= 1 &&
         log_min_p <= 0;
}

// The k first places of a span.
FUNCTION Span first_k(float k, Row row, Span span, SelectSpace space) {
  const unsigned long count = amount_in(row, span, Ones{}, space.partial);
  if (k >= float(count)) return span;
  return {place_reaching(static_cast<unsigned long>(k), row, span, Ones{}, space), span.high};
}

// The fewest first places with a share of top_p.
FUNCTION Span nucleus(float top_p, Row row, Span span, float highest, SelectSpace space) {
  const Weights weights = {highest, 1, 0};
  const unsigned long target = high_product(amount_in(row, span, weights, space.partial), fraction(top_p));
  return {place_reaching(target > 1 ? target : 1, row, span, weights, space), span.high};
}

KERNEL(sample, Sample) {
  SHARED(unsigned long, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(unsigned long, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const Global<const float> settings = args.settings + long(block_index()) * 4;
  const float temperature = settings[0], top_k = settings[1], top_p = settings[2], log_min_p = settings[3];
  const int draw = args.draws[block_index()];
  const bool right = settings_hold(temperature, top_k, top_p, log_min_p) && draw >= 0 && draw < args.R;
  if (!right && thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);

  Row row = {args.x + long(block_index()) * args.V, args.V, false};
  const Place first = first_place(row, partial);
  const float highest = without_nan(row.x[index_of(first)]);
  int token = NO_TOKEN;
  if (right && temperature == 0) {
    token = index_of(first);
  } else if (right && absolute(highest) < infinity()) {
    row.by_index = top_k == 0 && top_p == 1;
    Span span = {~unsigned(args.V - 1), ~unsigned(0)};
    if (!row.by_index) span = {Place(order_of(-infinity()) + 1) << 32, first};
    if (top_k > 0) span = first_k(top_k, row, span, space);
    if (top_p < 1) span = nucleus(top_p, row, span, highest, space);
    const Weights weights = {highest, temperature, least_order(highest, log_min_p)};
    const unsigned long total = amount_in(row, span, weights, partial);
    const unsigned long drawn = high_product(total, uniform(args.random[2 * long(draw)], args.random[2 * long(draw) + 1]));
    token = index_of(place_reaching(drawn + 1, row, span, weights, space));
  }
  if (thread_index() == 0) args.y[block_index()] = token;
}

} // namespace gpu
} // namespace quern
