// AVX-512 with VNNI, and products of bf16.
#include "../vnni/table.h"

namespace quern::bf16 {

void round_bf16(const float* x, int64_t K, uint16_t* row);
GemmOfWords gemm_of_bf16, gemm_of_bf16_f16;
void attend_many_bf16(const Attend& args);
void attend_cached_bf16(const Attend& args);

// One more than exact_rows (runtime/call.h): up to there each row gets the bits that it would get alone.
constexpr int64_t BF16_ROWS = 17;

constexpr Kernels with_bf16(Kernels kernels) {
  kernels.name = "avx512-bf16";
  kernels.bf16_rows = BF16_ROWS;
  kernels.round_bf16 = round_bf16;
  kernels.gemm_of_bf16 = gemm_of_bf16;
  kernels.gemm_of_bf16_f16 = gemm_of_bf16_f16;
  kernels.attend_many_bf16 = attend_many_bf16;
  kernels.attend_cached_bf16 = attend_cached_bf16;
  return kernels;
}
constexpr Kernels table = with_bf16(vnni::table);

} // namespace quern::bf16

namespace quern {

const Kernels& bf16_kernels() { return bf16::table; }

} // namespace quern
