// The table of one instruction set (QUERN_ISA), made of the functions in declare.h. Included by each folder's table.cc.
#pragma once
#include "declare.h"

#define QUERN_QUOTE(name) #name
#define QUERN_NAME(name) QUERN_QUOTE(name)

namespace quern::QUERN_ISA {

#if defined(QUERN_INTEGER_KERNELS)
#define QUERN_QUANTISE quantise
#define QUERN_GEMM_F16 gemm_f16
#define QUERN_GEMM_BF16 gemm_bf16
#define QUERN_PACKED_GEMM                                                                                              \
  {nullptr,          nullptr,            nullptr,            packed_gemm_q4_0,  packed_gemm_q4_1, packed_gemm_q5_0,    \
   packed_gemm_q5_1, packed_gemm_q8_0,   packed_gemm_q2_k,   packed_gemm_q3_k,  packed_gemm_q4_k, packed_gemm_q5_k,    \
   packed_gemm_q6_k, packed_gemm_iq4_nl, packed_gemm_iq4_xs, packed_gemm_mxfp4, packed_gemm_iq8}
#else
#define QUERN_PACKED_GEMM                                                                                              \
  {}
#define QUERN_QUANTISE nullptr
#define QUERN_GEMM_F16 nullptr
#define QUERN_GEMM_BF16 nullptr
#endif

constexpr Kernels table = {
    .name = QUERN_NAME(QUERN_ISA),
    .decode = {decode_f32, decode_f16, decode_bf16, decode_q4_0, decode_q4_1, decode_q5_0, decode_q5_1, decode_q8_0,
               decode_q2_k, decode_q3_k, decode_q4_k, decode_q5_k, decode_q6_k, decode_iq4_nl, decode_iq4_xs, decode_mxfp4,
               decode_iq8},
    .gemm = gemm,
    .gemm_f16 = QUERN_GEMM_F16,
    .gemm_bf16 = QUERN_GEMM_BF16,
    .gemm_of_bf16 = nullptr,
    .gemm_of_bf16_f16 = nullptr,
    .quantise = QUERN_QUANTISE,
    .packed_gemm = QUERN_PACKED_GEMM,
    .coarse_rows = 0,
    .coarse_few = false,
    .quantise_coarse = nullptr,
    .coarse_gemm = {},
    .add = add,
    .mul = mul,
    .scale = scale,
    .silu = silu,
    .gelu_erf = gelu_erf,
    .gelu_tanh = gelu_tanh,
    .tanh = tanh,
    .swiglu = swiglu,
    .geglu = geglu,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .l2_normalise = l2_normalise,
    .softmax = softmax,
    .argmax = argmax,
    .rope = rope,
    .attend_many = attend_many,
    .attend_few = attend_few,
    .attend_many_bf16 = nullptr,
    .attend_cached_bf16 = nullptr,
    .merge_parts = merge_parts,
    .f32_to_f16 = f32_to_f16,
    .f16_to_f32 = f16_to_f32,
    .f32_to_bf16 = f32_to_bf16,
    .bf16_to_f32 = bf16_to_f32,
    .f32_to_i8 = f32_to_i8,
};

static_assert(sizeof(table.decode) / sizeof(table.decode[0]) == FORMAT_COUNT);

} // namespace quern::QUERN_ISA
