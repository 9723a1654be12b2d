// AVX-512 with VNNI, and tiles for many rows of x.
#include "../vnni/table.h"
#include "declare-coarse.h"

namespace quern::amx {

// Rows of x from which tiles are used. By counting they pay from 8 to 12 rows on, but up to exact_rows = 16 (runtime/call.h)
// each row gets the bits that it would get alone, which speculation relies on: so 17 at least. Where they overtake the other
// kernels is to be measured on the hardware: native/test/run.sh bench prints both side by side.
constexpr int64_t COARSE_ROWS = 17;

constexpr Kernels with_tiles(Kernels kernels) {
  kernels.name = "amx";
  kernels.coarse_rows = COARSE_ROWS;
  kernels.quantise_coarse = quantise_coarse;
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
  return kernels;
}
constexpr Kernels table = with_tiles(vnni::table);

} // namespace quern::amx

namespace quern {

const Kernels& amx_kernels() { return amx::table; }

} // namespace quern
