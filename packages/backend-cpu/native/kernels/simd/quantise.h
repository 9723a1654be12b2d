// Rows of activations to int8 (packed/tiles.h). The largest magnitude of 32 values becomes ±127, ±126, ±125 or ±124: of
// these four steps the one with the least squared error, 7 to 8 % less than ±127 alone (docs/performance.md). 32 values with an
// infinity or NaN get the scale NaN, so their results are NaN.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

constexpr int PARTS = SHARE / LANES; // registers of 32 values
constexpr int STEPS = 4;             // candidates
constexpr float levels[STEPS] = {127, 126, 125, 124};

inline float largest_of(const Floats (&x)[PARTS]) {
  Ints top = no_ints();
  for (const Floats part : x) top = largest_bits(top, magnitude_bits(part));
  const uint32_t bits = largest(top);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Σ (x / step − round(x / step))².
inline Floats squared_error(const Floats (&x)[PARTS], Floats inverse) {
  Floats error = set(0);
  for (const Floats part : x) {
    const Floats steps = part * inverse, rest = steps - round(steps);
    error = fma(rest, rest, error);
  }
  return error;
}

// The candidate with the least error; ties: the first.
inline float best_level(const Floats (&x)[PARTS], float inverse) {
  Floats errors[STEPS];
#pragma GCC unroll 4
  for (int i = 0; i < STEPS; i++) errors[i] = squared_error(x, set(levels[i] * inverse));
  float sums[STEPS];
  store_sums(sums, errors[0], errors[1], errors[2], errors[3]);
  float best = levels[0], least = sums[0] / (levels[0] * levels[0]);
  for (int i = 1; i < STEPS; i++) { // without branches: any step may be the best
    const float error = sums[i] * (1 / (levels[i] * levels[i]));
    best = error < least ? levels[i] : best;
    least = error < least ? error : least;
  }
  return best;
}

// Writes 32 values and their negated sums; returns the scale.
inline float quantise_share(const Floats (&x)[PARTS], int8_t* values, int32_t* sum32, int32_t* sums16) {
  const float largest = largest_of(x);
  const bool finite = largest <= 0x1.fffffep127f, useful = finite && largest >= SMALLEST;
  const float inverse = useful ? 1 / largest : 0, level = best_level(x, inverse);
  for (int i = 0; i < PARTS; i++) store_int8(values + i * LANES, useful ? x[i] * set(level * inverse) : set(0));
  negative_sums(values, sums16);
  *sum32 = sums16[0] + sums16[1];
  return useful ? largest / level : finite ? 0 : __builtin_nanf("");
}

} // namespace

void quantise(const float* x, int64_t K, uint8_t* out) {
  const QuantisedRow row = quantised_row(out, K);
  for (int64_t share = 0; share < spans_of(K) * SPAN / SHARE; share++) {
    const int64_t k = share * SHARE;
    Floats values[PARTS];
    for (int i = 0; i < PARTS; i++) {
      const int64_t at = k + i * LANES, left = K - at;
      values[i] = left >= LANES ? load(x + at) : left > 0 ? load(x + at, left) : set(0);
    }
    auto* const sum32 = const_cast<int32_t*>(row.sums32) + share;
    const float scale = quantise_share(values, const_cast<int8_t*>(row.values) + k, sum32, const_cast<int32_t*>(row.sums16) + 2 * share);
    const_cast<float*>(row.scales)[share] = scale;
    const_cast<float*>(row.minus_sums)[share] = scale * float(*sum32);
  }
}

} // namespace quern::QUERN_ISA
