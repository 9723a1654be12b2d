#include "vector.h"

namespace quern::avx2 {
namespace {

inline Floats floats(__m128i q) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(q)); } // the lower 8 bytes
inline __m128i upper(__m128i q) { return _mm_unpackhi_epi64(q, q); }

inline void put(float* out, __m128i q, Floats scale) {
  store(out, floats(q) * scale);
  store(out + 8, floats(upper(q)) * scale);
}
inline void put(float* out, __m128i q, Floats scale, Floats offset) {
  store(out, fma(floats(q), scale, offset));
  store(out + 8, fma(floats(upper(q)), scale, offset));
}

// 8 bytes times d, then 8 bytes times minus_dmin.
inline void put_affine_factors(float* out, __m128i q, float d, float minus_dmin) {
  store(out, floats(q) * set(d));
  store(out + 8, floats(upper(q)) * set(minus_dmin));
}

} // namespace
} // namespace quern::avx2

#include "../decode.h"
