#pragma once
#include <string.h>

namespace quern::QUERN_ISA {

void f32_to_f16(const float* x, uint16_t* y, int64_t n) {
  each(n, [=](int64_t i, auto... rest) { store(y + i, load(x + i, rest...), rest...); });
}

void f16_to_f32(const uint16_t* x, float* y, int64_t n) {
  each(n, [=](int64_t i, auto... rest) { store(y + i, load(x + i, rest...), rest...); });
}

void f32_to_bf16(const float* x, uint16_t* y, int64_t n) {
  each(n, [=](int64_t i, auto... rest) { store_bf16(y + i, load(x + i, rest...), rest...); });
}

void bf16_to_f32(const uint16_t* x, float* y, int64_t n) {
  each(n, [=](int64_t i, auto... rest) { store(y + i, load_bf16(x + i, rest...), rest...); });
}

void f32_to_i8(const float* x, int8_t* row, int64_t d) {
  Floats top = set(0), finite = set(0); // finite: 0, or NaN
  each(d, [&](int64_t i, auto... rest) {
    const Floats values = load(x + i, rest...);
    top = max(abs(values), top);
    finite = fma(values, set(0), finite);
  });
  const float scale = sum(finite) == 0 ? largest(top) / 127 : __builtin_nanf("");
  memcpy(row + d, &scale, sizeof scale);
  if (!(scale > 0)) return void(memset(row, 0, d));
  each(d, [&](int64_t i, auto... rest) {
    float steps[LANES];
    store(steps, max(set(-127), min(round(load(x + i, rest...) / set(scale)), set(127)))); // clamp: for a subnormal scale
    const int64_t count = i + LANES <= d ? LANES : d - i;
    for (int64_t l = 0; l < count; l++) row[i + l] = int8_t(steps[l]);
  });
}

} // namespace quern::QUERN_ISA
