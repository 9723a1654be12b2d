// Rows of x to int8, one scale per 256 values (packed/tiles.h). As in simd/quantise.h, a non-finite value gives scale NaN.
#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "../../packed/tiles.h"
#include "../declare-superblock.h"

namespace quern::vnni {
namespace {

struct Stretch {
  float scale;
  int32_t sum; // of the values
};

// `count` ≤ 256 floats → values, zero-padded to a whole span of 64.
inline Stretch quantise_stretch(const float* x, int64_t count, int8_t* values) {
  const auto at = [&](int64_t i) { // zeros beyond the row
    return i + LANES <= count ? load(x + i) : load(x + i, i < count ? count - i : 0);
  };
  Ints top = no_ints();
  for (int64_t i = 0; i < count; i += LANES) top = largest_bits(top, magnitude_bits(at(i)));
  const uint32_t bits = largest(top);
  float largest;
  __builtin_memcpy(&largest, &bits, sizeof largest);
  const bool finite = bits < 0x7f800000, useful = finite && largest >= SMALLEST;
  const Floats inverse = set(useful ? 127 / largest : 0);
  for (int64_t i = 0; i < spans_of(count) * SPAN; i += LANES) store_int8(values + i, useful ? at(i) * inverse : set(0));
  int32_t sum = 0;
  for (int64_t i = 0; i < spans_of(count) * SPAN; i += 32) {
    int32_t sums[2];
    negative_sums(values + i, sums);
    sum -= sums[0] + sums[1];
  }
  return {useful ? largest / 127 : finite ? 0 : __builtin_nanf(""), sum};
}

} // namespace

void quantise_superblocks(const float* x, int64_t K, uint8_t* out) {
  const SuperblockRow row = superblock_row(out, K);
  for (int64_t k = 0; k < K; k += SUPERBLOCK) {
    const Stretch stretch = quantise_stretch(x + k, K - k < SUPERBLOCK ? K - k : SUPERBLOCK, const_cast<int8_t*>(row.values) + k);
    const_cast<float*>(row.scales)[k / SUPERBLOCK] = stretch.scale;
    const_cast<int32_t*>(row.sums)[k / SUPERBLOCK] = -128 * stretch.sum;
  }
}

} // namespace quern::vnni
