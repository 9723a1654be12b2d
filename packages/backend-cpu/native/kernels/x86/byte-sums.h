// Sums of bytes, for simd/quantise.h. Included by bytes.h.
#pragma once

namespace quern::QUERN_ISA {
namespace {

// The negated sums of 16 and 16 bytes: of bytes + 128, without sign, eight at a time.
inline void negative_sums(const int8_t* p, int32_t* sums) {
  const __m256i bytes = _mm256_xor_si256(_mm256_loadu_si256((const __m256i*)p), _mm256_set1_epi8(-128));
  const __m256i eight = _mm256_sad_epu8(bytes, _mm256_setzero_si256());
  const __m256i sixteen = _mm256_add_epi32(eight, _mm256_shuffle_epi32(eight, 0x4e));
  sums[0] = 16 * 128 - _mm256_cvtsi256_si32(sixteen);
  sums[1] = 16 * 128 - _mm_cvtsi128_si32(_mm256_extracti128_si256(sixteen, 1));
}

} // namespace
} // namespace quern::QUERN_ISA
