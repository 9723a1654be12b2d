// Products of many rows of x with 16-bit weights on AMX: both rounded to bf16, or both in two parts of bf16.
#define QUERN_ISA amx
#include "../avx512/vector.h"
#include "bf16-tiles.h"

namespace quern::amx {
namespace {

// Parts of a weight, each one type of bf16-operands.h.
template <class... Parts>
struct Weights {
  static constexpr int COUNT = sizeof...(Parts);
  const uint16_t* w; // [N, K], row stride ldw
  int64_t ldw;

  const uint16_t* at(const Part& part, int64_t row) const { return w + (part.n + row) * ldw + part.k; }

  void fill(const Part& part, const Part& next, Panel<COUNT>& panel) const {
    for (int64_t j = 0; j * LANES < part.columns; j++) {
      const int64_t columns = least(part.columns - j * LANES, LANES);
      for (int64_t k = 0; k < part.depth; k += STEP) {
        for (int64_t row = j * LANES; row < j * LANES + columns; row++) __builtin_prefetch(at(next, row) + k, 0, 2);
        int i = 0;
        (fill_tile<Parts>(at(part, j * LANES) + k, ldw, columns, least(part.depth - k, STEP), panel.steps[k / STEP][i++][j]), ...);
      }
    }
  }
};

template <int X_PARTS, class... Parts>
inline void multiply_words(const Product& p, const uint16_t* w, int64_t ldw, void* scratch) {
  multiply<X_PARTS, sizeof...(Parts)>(p, Weights<Parts...>{w, ldw}, scratch);
}

} // namespace

void gemm_of_bf16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                  int64_t T, int64_t N, int64_t K, void* panel) {
  multiply_words<1, Bf16Weights>({{x, ldx, 0}, bias, y, ldy, T, N, K}, w, ldw, panel);
}

void gemm_of_bf16_f16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                      int64_t ldy, int64_t T, int64_t N, int64_t K, void* panel) {
  multiply_words<1, F16Weights>({{x, ldx, 0}, bias, y, ldy, T, N, K}, w, ldw, panel);
}

void gemm_of_halves(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y, int64_t ldy,
                    int64_t T, int64_t N, int64_t K, void* panel) {
  multiply_words<2, Bf16Weights>({{x, ldx, bf16_row_words(K)}, bias, y, ldy, T, N, K}, w, ldw, panel);
}

void gemm_of_halves_f16(const uint16_t* x, int64_t ldx, const uint16_t* w, int64_t ldw, const float* bias, float* y,
                        int64_t ldy, int64_t T, int64_t N, int64_t K, void* panel) {
  multiply_words<2, F16Weights, F16Rests>({{x, ldx, bf16_row_words(K)}, bias, y, ldy, T, N, K}, w, ldw, panel);
}

void round_bf16(const float* x, int64_t K, uint16_t* row) { round_row(x, K, row); }

void split_bf16(const float* x, int64_t K, uint16_t* row) {
  uint16_t* const low = row + bf16_row_words(K);
  for (int64_t i = 0; i < bf16_row_values(K); i += LANES) {
    const Floats value = values(x, K, i);
    const __m256bh high = _mm512_cvtneps_pbh(value);
    const __mmask16 finite = _mm512_cmp_ps_mask(abs(_mm512_cvtpbh_ps(high)), set(__builtin_inff()), _CMP_LT_OQ);
    const Floats rest = _mm512_maskz_sub_ps(finite, value, _mm512_cvtpbh_ps(high));
    _mm256_storeu_si256((__m256i*)(row + i), __m256i(high));
    _mm256_storeu_si256((__m256i*)(low + i), __m256i(_mm512_cvtneps_pbh(rest)));
  }
}

} // namespace quern::amx
