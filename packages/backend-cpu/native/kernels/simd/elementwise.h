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

void add(const float* a, const float* b, float* y, int64_t n) {
  map(a, b, y, n, [](Floats u, Floats v) { return u + v; });
}

void mul(const float* a, const float* b, float* y, int64_t n) {
  map(a, b, y, n, [](Floats u, Floats v) { return u * v; });
}

void scale(const float* x, float factor, float* y, int64_t n) {
  map(x, y, n, [factor](Floats v) { return v * set(factor); });
}

void silu(const float* x, float* y, int64_t n) { map(x, y, n, silu_of); }

void gelu_erf(const float* x, float* y, int64_t n) {
  map(x, y, n, [](Floats v) { return v * normal_cdf(v); });
}

void gelu_tanh(const float* x, float* y, int64_t n) { map(x, y, n, gelu_tanh_of); }

void tanh(const float* x, float* y, int64_t n) {
  map(x, y, n, [](Floats v) { return tanh(v); });
}

void swiglu(const float* gate, const float* up, float* y, int64_t n) {
  map(gate, up, y, n, [](Floats g, Floats u) { return silu_of(g) * u; });
}

void geglu(const float* gate, const float* up, float* y, int64_t n) {
  map(gate, up, y, n, [](Floats g, Floats u) { return gelu_tanh_of(g) * u; });
}

} // namespace quern::QUERN_ISA
