#include "scalar.h"
#include <math.h>

namespace quern::scalar {

namespace {

inline float silu_of(float x) { return x / (1 + expf(-x)); }

// 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
inline float gelu_tanh_of(float x) { return 0.5f * x * (1 + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x))); }

} // namespace

void add(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

void mul(const float* a, const float* b, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = a[i] * b[i];
}

void scale(const float* x, float factor, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = x[i] * factor;
}

void silu(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = silu_of(x[i]);
}

void gelu_erf(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678118654752440f));
}

void gelu_tanh(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = gelu_tanh_of(x[i]);
}

void tanh(const float* x, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = tanhf(x[i]);
}

void swiglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = silu_of(gate[i]) * up[i];
}

void geglu(const float* gate, const float* up, float* y, int64_t n) {
  for (int64_t i = 0; i < n; i++) y[i] = gelu_tanh_of(gate[i]) * up[i];
}

} // namespace quern::scalar
