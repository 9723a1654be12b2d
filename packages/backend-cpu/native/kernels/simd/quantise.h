// Rows of activations to int8 (packed/tiles.h). The largest magnitude of 32 values becomes ±127, ±126, ±125 or ±124: of
// these four steps the one with the least squared error, 7 to 8 % less than ±127 alone (docs/performance.md). 32 values with an
// infinity or NaN get the scale NaN, so their results are NaN.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

constexpr int PARTS = SHARE / LANES; // registers of 32 values
constexpr int TOGETHER = LANES;      // shares at a time, one per lane: nothing is summed across a register
constexpr int LEVELS = 4;
constexpr float levels[LEVELS] = {127, 126, 125, 124};

inline bool is_finite(float magnitude) { return magnitude <= 0x1.fffffep127f; }

// Values [at, at + LANES) of shares from x on; zeros from `left` values on.
inline void load_part(const float* x, int64_t left, int64_t at, Floats (&part)[TOGETHER]) {
#pragma GCC unroll 16
  for (int s = 0; s < TOGETHER; s++) {
    const int64_t first = s * SHARE + at, rest = left - first;
    part[s] = rest >= LANES ? load(x + first) : rest > 0 ? load(x + first, rest) : set(0);
  }
}

// Of each share: the largest magnitude, and the level with the least squared error; ties: the first. A largest magnitude that is
// tiny or not finite has no meaningful level.
inline void choose_levels(const Floats (&columns)[SHARE], float (&top)[TOGETHER], float (&best)[TOGETHER]) {
  Ints largest = no_ints();
#pragma GCC unroll 8
  for (const Floats column : columns) largest = largest_bits(largest, magnitude_bits(column));
  store(top, floats_of_bits(largest));

  const Floats inverse = set(1) / floats_of_bits(largest);
  Floats scales[LEVELS], errors[LEVELS]; // errors: Σ (x / step − round(x / step))²
#pragma GCC unroll 4
  for (int i = 0; i < LEVELS; i++) scales[i] = set(levels[i]) * inverse, errors[i] = set(0);
  for (const Floats column : columns)
#pragma GCC unroll 4
    for (int i = 0; i < LEVELS; i++) {
      const Floats rest = fraction(column * scales[i]);
      errors[i] = fma(rest, rest, errors[i]);
    }
  float least[TOGETHER];
  for (int i = 0; i < LEVELS; i++) {
    float error[TOGETHER];
    store(error, errors[i] * set(1 / (levels[i] * levels[i])));
    for (int s = 0; s < TOGETHER; s++) {
      const bool better = i == 0 || error[s] < least[s];
      best[s] = better ? levels[i] : best[s];
      least[s] = better ? error[s] : least[s];
    }
  }
}

// Quantises the first `count` of TOGETHER shares; x has `left` values.
inline void quantise_shares(const float* x, int64_t left, int64_t count, int8_t* values, float* scales) {
  Floats parts[PARTS][TOGETHER], columns[SHARE]; // columns[i]: value i of every share
#pragma GCC unroll 8
  for (int i = 0; i < PARTS; i++) {
    load_part(x, left, i * LANES, parts[i]);
    Floats square[LANES];
    for (int s = 0; s < TOGETHER; s++) square[s] = parts[i][s];
    transpose(square);
    for (int j = 0; j < LANES; j++) columns[i * LANES + j] = square[j];
  }
  float top[TOGETHER], level[TOGETHER], inverse[TOGETHER], step[TOGETHER];
  choose_levels(columns, top, level);
  for (int s = 0; s < TOGETHER; s++) inverse[s] = level[s] / top[s], step[s] = top[s] / level[s];
  for (int s = 0; s < count; s++) {
    const bool useful = is_finite(top[s]) && top[s] >= SMALLEST;
    for (int i = 0; i < PARTS; i++)
      store_int8(values + s * SHARE + i * LANES, useful ? parts[i][s] * set(inverse[s]) : set(0));
    scales[s] = useful ? step[s] : is_finite(top[s]) ? 0 : __builtin_nanf("");
  }
}

// Of the values of a whole row: sums right after each store would wait for it.
inline void sum_values(const QuantisedRow& row, int64_t shares) {
  auto* const sums16 = const_cast<int32_t*>(row.sums16);
  for (int64_t share = 0; share < shares; share++) {
    negative_sums(row.values + share * SHARE, sums16 + 2 * share);
    const int32_t sum = sums16[2 * share] + sums16[2 * share + 1];
    const_cast<int32_t*>(row.sums32)[share] = sum;
    const_cast<float*>(row.minus_sums)[share] = row.scales[share] * float(sum);
  }
}

} // namespace

void quantise(const float* x, int64_t K, uint8_t* out) {
  const QuantisedRow row = quantised_row(out, K);
  const int64_t shares = spans_of(K) * SPAN / SHARE;
  auto* const values = const_cast<int8_t*>(row.values);
  auto* const scales = const_cast<float*>(row.scales);
  for (int64_t first = 0; first < shares; first += TOGETHER) {
    const int64_t left = shares - first, count = left < TOGETHER ? left : TOGETHER;
    quantise_shares(x + first * SHARE, K - first * SHARE, count, values + first * SHARE, scales + first);
  }
  sum_values(row, shares);
}

} // namespace quern::QUERN_ISA
