// Rows of activations to int8 (packed/tiles.h). The largest magnitude of 32 values becomes ±127, ±126, ±125 or ±124: of
// these four steps the one with the least squared error, 7 to 8 % less than ±127 alone (docs/performance.md). 32 values with an
// infinity or NaN get the scale NaN, so their results are NaN.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

constexpr int PARTS = SHARE / LANES; // registers of 32 values
constexpr int TOGETHER = 4;          // shares at a time: their latencies overlap
constexpr int LEVELS = 4;
constexpr float levels[LEVELS] = {127, 126, 125, 124};

inline bool is_finite(float magnitude) { return magnitude <= 0x1.fffffep127f; }

inline float largest_of(const Floats (&x)[PARTS]) {
  Ints top = no_ints();
  for (const Floats part : x) top = largest_bits(top, magnitude_bits(part));
  const uint32_t bits = largest(top);
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Σ (x / step − round(x / step))².
inline Floats squared_error(const Floats (&x)[PARTS], float inverse) {
  Floats error = set(0);
  for (const Floats part : x) {
    const Floats rest = fraction(part * set(inverse));
    error = fma(rest, rest, error);
  }
  return error;
}

// For each of four shares the level with the least error; ties: the first. inverse: 1 / largest magnitude.
inline void choose_levels(const Floats (&x)[TOGETHER][PARTS], const float (&inverse)[TOGETHER], float (&best)[TOGETHER]) {
  float least[TOGETHER];
#pragma GCC unroll 4
  for (int i = 0; i < LEVELS; i++) {
    Floats errors[TOGETHER];
#pragma GCC unroll 4
    for (int s = 0; s < TOGETHER; s++) errors[s] = squared_error(x[s], levels[i] * inverse[s]);
    float sums[TOGETHER];
    store_sums(sums, errors[0], errors[1], errors[2], errors[3]);
    for (int s = 0; s < TOGETHER; s++) {
      const float error = sums[s] * (1 / (levels[i] * levels[i]));
      const bool better = i == 0 || error < least[s];
      best[s] = better ? levels[i] : best[s];
      least[s] = better ? error : least[s];
    }
  }
}

// Quantises the first `count` of four shares.
inline void quantise_shares(const Floats (&x)[TOGETHER][PARTS], int64_t count, int8_t* values, float* scales) {
  float top[TOGETHER], inverse[TOGETHER], level[TOGETHER];
#pragma GCC unroll 4
  for (int s = 0; s < TOGETHER; s++) top[s] = largest_of(x[s]);
  for (int s = 0; s < TOGETHER; s++) inverse[s] = is_finite(top[s]) && top[s] >= SMALLEST ? 1 / top[s] : 0;
  choose_levels(x, inverse, level);
#pragma GCC unroll 4
  for (int s = 0; s < count; s++) {
    const bool useful = inverse[s] != 0;
    for (int i = 0; i < PARTS; i++)
      store_int8(values + s * SHARE + i * LANES, useful ? x[s][i] * set(level[s] * inverse[s]) : set(0));
    scales[s] = useful ? top[s] / level[s] : is_finite(top[s]) ? 0 : __builtin_nanf("");
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
  for (int64_t first = 0; first < shares; first += TOGETHER) {
    Floats values[TOGETHER][PARTS];
#pragma GCC unroll 4
    for (int i = 0; i < TOGETHER * PARTS; i++) {
      const int64_t at = first * SHARE + i * LANES, left = K - at;
      values[i / PARTS][i % PARTS] = left >= LANES ? load(x + at) : left > 0 ? load(x + at, left) : set(0);
    }
    const int64_t left = shares - first, count = left < TOGETHER ? left : TOGETHER;
    quantise_shares(values, count, const_cast<int8_t*>(row.values) + first * SHARE, const_cast<float*>(row.scales) + first);
  }
  sum_values(row, shares);
}

} // namespace quern::QUERN_ISA
