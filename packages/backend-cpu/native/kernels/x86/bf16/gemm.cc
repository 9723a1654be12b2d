// Products of bf16 rows with AVX512-BF16: two products to a lane, at twice the rate of floats where the processor has
// the units for it (AMD from Zen 4 on; Intel's AVX-512 units give half of the rate of floats).
#define QUERN_ISA bf16
#include "../avx512/vector.h"
#include "../../simd/gemm.h"

namespace quern::bf16 {

namespace {

inline __mmask32 first_words(int64_t n) { return __mmask32((uint64_t(1) << n) - 1); }

struct OfBf16 {
  using X = uint16_t;
  using W = uint16_t;
  static constexpr int STEP = 32;
  static __m512bh load_x(const X* p) { return __m512bh(_mm512_loadu_si512(p)); }
  static __m512bh load_x(const X* p, int64_t n) { return __m512bh(_mm512_maskz_loadu_epi16(first_words(n), p)); }
  template <class... N>
  static __m512bh load_w(const W* p, N... n) { return load_x(p, n...); }
  static Floats add_product(__m512bh x, __m512bh w, Floats sum) { return _mm512_dpbf16_ps(sum, x, w); }
};

} // namespace

void gemm_of_bf16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                  int64_t T, int64_t N, int64_t K) {
  multiply(Product<OfBf16>{x, ldx, w, ldw, bias, y, ldy, K}, T, N);
}

void f16_to_bf16(const uint16_t* x, uint16_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + 2 * LANES <= n; i += 2 * LANES)
    _mm512_storeu_si512(y + i, (__m512i)_mm512_cvtne2ps_pbh(load(x + i + LANES), load(x + i)));
  each(n - i, [&](int64_t j, auto... rest) { store_bf16(y + i + j, load(x + i + j, rest...), rest...); });
}

} // namespace quern::bf16
