#pragma once

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

} // namespace quern::QUERN_ISA
