// Declares the functions of one instruction set's table, in its namespace (QUERN_ISA). See kernels.h.
#pragma once
#include "kernels.h"

namespace quern::QUERN_ISA {

#define QUERN_FORMAT(name, NAME, block, block_bytes) void decode_##name(const void* blocks, float* out, int64_t count);
#include "generated/formats.inc"

#define QUERN_KERNEL(result, name, parameters) result name parameters;
#include "kernels.inc"

void gemm_f16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
              int64_t T, int64_t N, int64_t K);
void gemm_bf16(const float* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
               int64_t T, int64_t N, int64_t K);

void quantise(const float* x, int64_t K, uint8_t* row);

} // namespace quern::QUERN_ISA

#include "declare-packed.h"
