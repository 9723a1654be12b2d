// Declares the functions of one instruction set's table, in its namespace (QUERN_ISA). See kernels.h.
#pragma once
#include "kernels.h"

namespace quern::QUERN_ISA {

#define QUERN_FORMAT(name, NAME, block, block_bytes) void decode_##name(const void* blocks, float* out, int64_t count);
#include "generated/formats.inc"

void gemm(const float* x, int64_t ldx, const float* w, int64_t ldw, const float* bias, float* y, int64_t ldy, int64_t T,
          int64_t N, int64_t K);
void gemm_f16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
              int64_t T, int64_t N, int64_t K);
void gemm_bf16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
               int64_t T, int64_t N, int64_t K);

void quantise(const float* x, int64_t K, uint8_t* row);

void add(const float* a, const float* b, float* y, int64_t n);
void mul(const float* a, const float* b, float* y, int64_t n);
void scale(const float* x, float factor, float* y, int64_t n);
void silu(const float* x, float* y, int64_t n);
void gelu_erf(const float* x, float* y, int64_t n);
void gelu_tanh(const float* x, float* y, int64_t n);
void tanh(const float* x, float* y, int64_t n);
void swiglu(const float* gate, const float* up, float* y, int64_t n);
void geglu(const float* gate, const float* up, float* y, int64_t n);

void rms_norm(const float* x, const float* w, float eps, float* y, int64_t width);
void layer_norm(const float* x, const float* w, const float* b, float eps, float* y, int64_t width);
void l2_normalise(const float* x, float* y, int64_t width);
void softmax(const float* x, float* y, int64_t width);
int64_t argmax(const float* x, int64_t width, float* max);
void rope(const float* x, const float* table, float* y, int64_t heads, int64_t d, int64_t r, int32_t layout);
void attend_many(const Attend& args);
void attend_few(const Attend& args);
void merge_parts(const float* parts, int64_t stride, int64_t count, float* y, int64_t d);

void f32_to_f16(const float* x, uint16_t* y, int64_t n);
void f16_to_f32(const uint16_t* x, float* y, int64_t n);
void f32_to_bf16(const float* x, uint16_t* y, int64_t n);
void bf16_to_f32(const uint16_t* x, float* y, int64_t n);
void f32_to_i8(const float* x, int8_t* row, int64_t d);

} // namespace quern::QUERN_ISA

#include "declare-packed.h"
