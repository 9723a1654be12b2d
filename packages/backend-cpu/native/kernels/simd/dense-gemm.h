// Products of float rows with weights in f32, f16 or bf16 (converted to f32 by the load).
#pragma once
#include "gemm.h"

namespace quern::QUERN_ISA {

void gemm(const float* x, int64_t ldx, const float* w, int64_t ldw, const float* bias, float* y, int64_t ldy, int64_t T,
          int64_t N, int64_t K) {
  multiply(Product<OfFloats>{x, ldx, w, ldw, bias, y, ldy, K}, T, N);
}

void gemm_f16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
              int64_t T, int64_t N, int64_t K) {
  multiply(Product<OfF16Weights>{x, ldx, w, ldw, bias, y, ldy, K}, T, N);
}

void gemm_bf16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
               int64_t T, int64_t N, int64_t K) {
  multiply(Product<OfBf16Weights>{x, ldx, w, ldw, bias, y, ldy, K}, T, N);
}

} // namespace quern::QUERN_ISA
