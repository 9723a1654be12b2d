// Declares the products of many rows with packed weights in the namespace of one instruction set (QUERN_ISA), and what
// gives a table those kernels.
#include "../kernels.h"

namespace quern::QUERN_ISA {

void quantise_coarse(const float* x, int64_t K, uint8_t* row);

void coarse_gemm_q4_0(const PackedGemm& args);
void coarse_gemm_q4_1(const PackedGemm& args);
void coarse_gemm_q5_0(const PackedGemm& args);
void coarse_gemm_q5_1(const PackedGemm& args);
void coarse_gemm_q8_0(const PackedGemm& args);
void coarse_gemm_q2_k(const PackedGemm& args);
void coarse_gemm_q3_k(const PackedGemm& args);
void coarse_gemm_q4_k(const PackedGemm& args);
void coarse_gemm_q5_k(const PackedGemm& args);
void coarse_gemm_q6_k(const PackedGemm& args);
void coarse_gemm_iq4_nl(const PackedGemm& args);
void coarse_gemm_iq4_xs(const PackedGemm& args);
void coarse_gemm_mxfp4(const PackedGemm& args);
void coarse_gemm_iq8(const PackedGemm& args);

constexpr void with_coarse_gemm(Kernels& kernels) {
  kernels.coarse_gemm[FORMAT_Q4_0] = coarse_gemm_q4_0;
  kernels.coarse_gemm[FORMAT_Q4_1] = coarse_gemm_q4_1;
  kernels.coarse_gemm[FORMAT_Q5_0] = coarse_gemm_q5_0;
  kernels.coarse_gemm[FORMAT_Q5_1] = coarse_gemm_q5_1;
  kernels.coarse_gemm[FORMAT_Q8_0] = coarse_gemm_q8_0;
  kernels.coarse_gemm[FORMAT_Q2_K] = coarse_gemm_q2_k;
  kernels.coarse_gemm[FORMAT_Q3_K] = coarse_gemm_q3_k;
  kernels.coarse_gemm[FORMAT_Q4_K] = coarse_gemm_q4_k;
  kernels.coarse_gemm[FORMAT_Q5_K] = coarse_gemm_q5_k;
  kernels.coarse_gemm[FORMAT_Q6_K] = coarse_gemm_q6_k;
  kernels.coarse_gemm[FORMAT_IQ4_NL] = coarse_gemm_iq4_nl;
  kernels.coarse_gemm[FORMAT_IQ4_XS] = coarse_gemm_iq4_xs;
  kernels.coarse_gemm[FORMAT_MXFP4] = coarse_gemm_mxfp4;
  kernels.coarse_gemm[FORMAT_IQ8] = coarse_gemm_iq8;
}

} // namespace quern::QUERN_ISA
