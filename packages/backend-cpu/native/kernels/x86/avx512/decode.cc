#include "vector.h"

namespace quern::avx512 {
namespace {

inline Floats floats(__m128i q) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(q)); }

inline void put(float* out, __m128i q, Floats scale) { store(out, floats(q) * scale); }
inline void put(float* out, __m128i q, Floats scale, Floats offset) { store(out, fma(floats(q), scale, offset)); }

// 8 bytes times d, then 8 bytes times minus_dmin.
inline void put_affine_factors(float* out, __m128i q, float d, float minus_dmin) {
  put(out, q, _mm512_mask_blend_ps(0xff00, set(d), set(minus_dmin)));
}

} // namespace
} // namespace quern::avx512

#include "../decode.h"
