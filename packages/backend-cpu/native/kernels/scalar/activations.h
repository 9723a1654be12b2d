// Activations used by several kernels.
#pragma once
#include "scalar.h"
#include <math.h>

namespace quern::scalar {
namespace {

inline float silu_of(float x) { return x / (1 + expf(-x)); }

// 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
inline float gelu_tanh_of(float x) { return 0.5f * x * (1 + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x))); }

} // namespace
} // namespace quern::scalar
