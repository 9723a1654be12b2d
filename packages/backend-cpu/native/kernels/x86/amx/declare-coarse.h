// What this folder adds to the kernels of x86/vnni.
#pragma once
#include "../../kernels.h"

namespace quern::amx {

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

} // namespace quern::amx
