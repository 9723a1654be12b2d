// A register of one float: the part of simd/'s vocabulary that attention needs (simd/README.md).
#pragma once
#include "scalar.h"
#include <math.h>

namespace quern::scalar {
namespace {

using Floats = float;
constexpr int LANES = 1, REGISTERS = 16;
constexpr float INF = INFINITY;

inline Floats set(float x) { return x; }
inline Floats load(const float* p, int64_t = 1) { return *p; }
inline Floats load(const uint16_t* f16, int64_t = 1) { return f16_value(*f16); }
inline Floats load(const int8_t* p, int64_t = 1) { return *p; }
inline Floats load_bf16(const uint16_t* p, int64_t = 1) { return bf16_value(*p); }
inline Floats load_or(Floats, const float* p, int64_t = 1) { return *p; }
inline void store(float* p, Floats x, int64_t = 1) { *p = x; }
inline Floats fma(Floats a, Floats b, Floats c) { return a * b + c; } // rounded twice: fmaf without the instruction is slow
inline Floats max(Floats a, Floats b) { return a > b ? a : b; }
inline Floats exp(Floats x) { return expf(x); }
inline Floats tanh(Floats x) { return tanhf(x); }
inline float sum(Floats x) { return x; }
inline void store_sums(float* p, Floats a, Floats b, Floats c, Floats d) { p[0] = a, p[1] = b, p[2] = c, p[3] = d; }
inline float largest(Floats x) { return x; }
inline void transpose(Floats (&)[LANES]) {}

} // namespace
} // namespace quern::scalar

#include "../simd/each.h"
