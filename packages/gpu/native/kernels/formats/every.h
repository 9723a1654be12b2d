// The formats of weights with kernels. EVERY_DENSE_FORMAT(F), EVERY_BLOCK_FORMAT(F): F(type, name) for each. EVERY_WEIGHT(F): F(type of an
// array, name) for each, dense ones too.
#pragma once
#include "../dense-weights.h"
#include "file-blocks.h"

#define EVERY_DENSE_FORMAT(F) \
  F(F32, f32)                 \
  F(F16, f16)                 \
  F(Bf16, bf16)

#define EVERY_BLOCK_FORMAT(F) \
  F(Q4_0, q4_0)               \
  F(Q4_1, q4_1)               \
  F(Q5_0, q5_0)               \
  F(Q5_1, q5_1)               \
  F(Q8_0, q8_0)               \
  F(Q2_K, q2_k)               \
  F(Q3_K, q3_k)               \
  F(Q4_K, q4_k)               \
  F(Q5_K, q5_k)               \
  F(Q6_K, q6_k)               \
  F(Iq4Nl, iq4_nl)            \
  F(Iq4Xs, iq4_xs)            \
  F(Mxfp4, mxfp4)             \
  F(Iq8, iq8)                 \
  F(F8, f8)

#define EVERY_WEIGHT(F)    \
  F(Dense<F32>, f32)       \
  F(Dense<F16>, f16)       \
  F(Dense<Bf16>, bf16)     \
  F(Blocks<Q4_0>, q4_0)    \
  F(Blocks<Q4_1>, q4_1)    \
  F(Blocks<Q5_0>, q5_0)    \
  F(Blocks<Q5_1>, q5_1)    \
  F(Blocks<Q8_0>, q8_0)    \
  F(Blocks<Q2_K>, q2_k)    \
  F(Blocks<Q3_K>, q3_k)    \
  F(Blocks<Q4_K>, q4_k)    \
  F(Blocks<Q5_K>, q5_k)    \
  F(Blocks<Q6_K>, q6_k)    \
  F(Blocks<Iq4Nl>, iq4_nl) \
  F(Blocks<Iq4Xs>, iq4_xs) \
  F(Blocks<Mxfp4>, mxfp4)  \
  F(Blocks<Iq8>, iq8)      \
  F(Blocks<F8>, f8)
