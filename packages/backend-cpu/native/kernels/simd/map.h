// Helpers of elementwise kernels.
#pragma once

namespace quern::QUERN_ISA {
namespace {

template <class F>
inline void map(const float* x, float* y, int64_t n, F f) {
  each(n, [=](int64_t i, auto... rest) { store(y + i, f(load(x + i, rest...)), rest...); });
}

template <class F>
inline void map(const float* a, const float* b, float* y, int64_t n, F f) {
  each(n, [=](int64_t i, auto... rest) { store(y + i, f(load(a + i, rest...), load(b + i, rest...)), rest...); });
}

inline Floats silu_of(Floats x) { return x_sigmoid(x, x); }

// 0.5 · x · (1 + tanh u) = x · sigmoid(2u) with u = √(2/π) · (x + 0.044715 · x³)
inline Floats gelu_tanh_of(Floats x) {
  const Floats cubic = fma(x * x * x, set(0.044715f), x);
  return x_sigmoid(x, cubic * set(1.59576912160573071176f));
}

} // namespace
} // namespace quern::QUERN_ISA
