// Rows of activations to int8 (packed/tiles.h): the largest magnitude of each 64 values becomes ±127. A span with an
// infinity or NaN gets the scale NaN, so its results are NaN.
#pragma once
#include "../packed/tiles.h"

namespace quern::QUERN_ISA {

namespace {

inline float from_bits(uint32_t bits) {
  float x;
  __builtin_memcpy(&x, &bits, sizeof x);
  return x;
}

// 64 floats at x → values, sums; returns the scale.
inline float quantise_span(const float* x, int8_t* values, int32_t* sums32, int32_t* sums16) {
  Ints top = no_ints();
  for (int i = 0; i < SPAN; i += LANES) top = largest_bits(top, magnitude_bits(load(x + i)));
  const uint32_t bits = largest(top);
  const bool finite = bits < 0x7f800000;
  const float largest = from_bits(bits);
  const float inverse = finite && largest >= SMALLEST ? 127 / largest : 0;
  for (int group = 0; group < 4; group++) {
    int32_t sum = 0;
    for (int i = 0; i < 16; i += LANES) {
      const int at = 16 * group + i;
      sum += inverse == 0 ? store_int8(values + at, set(0)) : store_int8(values + at, load(x + at) * set(inverse));
    }
    sums16[group] = -sum;
  }
  sums32[0] = sums16[0] + sums16[1];
  sums32[1] = sums16[2] + sums16[3];
  return finite ? (inverse == 0 ? 0 : largest / 127) : __builtin_nanf("");
}

} // namespace

void quantise(const float* x, int64_t K, uint8_t* out) {
  const QuantisedRow row = quantised_row(out, K);
  const auto quantise_at = [&](int64_t span, const float* from) {
    const_cast<float*>(row.scales)[span] =
        quantise_span(from, const_cast<int8_t*>(row.values) + span * SPAN, const_cast<int32_t*>(row.sums32) + 2 * span,
                      const_cast<int32_t*>(row.sums16) + 4 * span);
  };
  int64_t k = 0;
  for (; k + SPAN <= K; k += SPAN) quantise_at(k / SPAN, x + k);
  if (k == K) return;
  float last[SPAN] = {};
  for (int64_t i = k; i < K; i++) last[i - k] = x[i];
  quantise_at(k / SPAN, last);
}

} // namespace quern::QUERN_ISA
