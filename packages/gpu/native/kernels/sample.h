// Draws a token from each row of logits: sample of docs/ops.md.
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

CONSTANT int NO_TOKEN = -1;

// Weights in units of 2⁻⁴⁴. 0 for elements below `least`, by order_of.
struct Weights {
  float highest, temperature;
  unsigned least;
};

FUNCTION uint64_t amount_of(Weights weights, float x) {
  if (order_of(x) < weights.least) return 0;
  if (x == weights.highest) return uint64_t(1) << 44;
  const TwoFloat nats = precise_quotient(exact_sum(x, -weights.highest), weights.temperature);
  if (!(nats.high > -32)) return 0; // below 2⁻⁴⁴; also NaN
  const float weight = exponential(nats.high);
  return static_cast<uint64_t>(fused(weight, nats.low, weight) * float(uint64_t(1) << 44));
}

// The least order_of(x) with x ≥ highest + log_min_p.
FUNCTION unsigned least_order(float highest, float log_min_p) {
  const TwoFloat bound = exact_sum(highest, log_min_p);
  return order_of(bound.high) + (bound.low > 0 ? 1 : 0);
}

// ⌊a · b / 2⁶⁴⌋
FUNCTION uint64_t high_product(uint64_t a, uint64_t b) {
  const uint64_t low = 0xffffffff, a_low = a & low, a_high = a >> 32, b_low = b & low, b_high = b >> 32;
  const uint64_t first = a_high * b_low + (a_low * b_low >> 32), second = a_low * b_high + (first & low);
  return a_high * b_high + (first >> 32) + (second >> 32);
}

// u · 2⁶⁴
FUNCTION uint64_t uniform(int high, int low) {
  return static_cast<uint64_t>(unsigned(high) >> 5) << 37 | static_cast<uint64_t>(unsigned(low) >> 6) << 11;
}

// p · 2⁶⁴, for p < 1
FUNCTION uint64_t fraction(float p) { return static_cast<uint64_t>(p * 4294967296.f) << 32; }

struct Settings {
  float temperature, top_k, top_p, log_min_p;
  int draw;
  FUNCTION bool in_order_of_index() const { return top_k == 0 && top_p == 1; }
};

FUNCTION Settings settings_of(ARGUMENTS const Sample& args, int row) {
  const Global<const float> of_row = args.settings + int64_t(row) * 4;
  return {of_row[0], of_row[1], of_row[2], of_row[3], args.draws[row]};
}

FUNCTION bool right(Settings given, int draws) {
  return given.temperature >= 0 && given.temperature < infinity() && given.top_k >= 0 && given.top_k == round_even(given.top_k) &&
         given.top_p >= 0 && given.top_p <= 1 && given.log_min_p <= 0 && given.draw >= 0 && given.draw < draws;
}

// Whether a token is drawn: otherwise it is the first one, or there is none.
FUNCTION bool draws_token(Settings given, float highest) { return given.temperature > 0 && absolute(highest) < infinity(); }

// What the row's random number takes of `total`: from 1 on.
FUNCTION uint64_t drawn(ARGUMENTS const Sample& args, Settings given, uint64_t total) {
  const int64_t at = 2 * int64_t(given.draw);
  return high_product(total, uniform(args.random[at], args.random[at + 1])) + 1;
}

// What the nucleus must hold of `total`.
FUNCTION uint64_t nucleus_sum(float top_p, uint64_t total) {
  const uint64_t sum = high_product(total, fraction(top_p));
  return sum > 1 ? sum : 1;
}

// The last place above −∞, or before it.
FUNCTION Place least_finite() { return Place(order_of(-infinity()) + 1) << 32; }

// The k first places of a span.
FUNCTION Span first_k(float k, Row row, Span span, SelectSpace space) {
  const uint64_t count = amount_in(row, span, Ones{}, space.partial);
  if (k >= float(count)) return span;
  return {place_reaching(static_cast<uint64_t>(k), row, span, Ones{}, space), span.high};
}

// The fewest first places with a share of top_p.
FUNCTION Span nucleus(float top_p, Row row, Span span, float highest, SelectSpace space) {
  const Weights weights = {highest, 1, 0};
  const uint64_t sum = nucleus_sum(top_p, amount_in(row, span, weights, space.partial));
  return {place_reaching(sum, row, span, weights, space), span.high};
}

// A block per row.
KERNEL_OF(sample, Sample, 512, 1) {
  SHARED(uint64_t, partial, WARP);
  SHARED(Place, places, LIST);
  SHARED(uint64_t, amounts, LIST);
  SHARED(Place, found, 1);
  const SelectSpace space = {partial, places, amounts, found};
  const Settings given = settings_of(args, block_index());
  const bool holds = right(given, args.R);
  if (!holds && thread_index() == 0) flag(args.fault, args.op, OUT_OF_RANGE);

  Row row = {args.x + int64_t(block_index()) * args.V, args.V, false};
  const Place first = first_place(row, 0, args.V, partial);
  const float highest = value_of(first);
  int token = holds && given.temperature == 0 ? index_of(first) : NO_TOKEN;
  if (holds && draws_token(given, highest)) {
    row.by_index = given.in_order_of_index();
    Span span = {~unsigned(args.V - 1), ~unsigned(0)};
    if (!row.by_index) span = {least_finite(), first};
    if (given.top_k > 0) span = first_k(given.top_k, row, span, space);
    if (given.top_p < 1) span = nucleus(given.top_p, row, span, highest, space);
    const Weights weights = {highest, given.temperature, least_order(highest, given.log_min_p)};
    const uint64_t total = amount_in(row, span, weights, partial);
    token = index_of(place_reaching(drawn(args, given, total), row, span, weights, space));
  }
  if (thread_index() == 0) args.y[block_index()] = token;
}

} // namespace gpu
} // namespace quern
