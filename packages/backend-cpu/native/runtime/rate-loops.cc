#include "runtime/rate-loops.h"

#if defined(QUERN_X86)
#include <immintrin.h>

#include "kernels/x86/amx/tile.h"
#include "runtime/cpu-features.h"
#endif

namespace quern {

#if defined(QUERN_X86)

// Accumulators of a loop: enough to hide the latency of multiply-adds, few enough for the registers.
static constexpr int sums = 12;

// An empty asm that "changes" an operand stops the compiler from merging, hoisting or dropping code that uses it.

// AVX2 and FMA ------------------------------------------------------------------------------------------------------------

[[gnu::target("avx2,fma")]] static void f32_avx2(int64_t rounds) {
  __m256 sum[sums] = {}, a = _mm256_set1_ps(0.5f), b = _mm256_set1_ps(1.0f);
  __asm__ volatile("" : "+x"(a), "+x"(b));
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+x"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) sum[i] = _mm256_fmadd_ps(sum[i], a, b);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"x"(sum[i]));
}

// Unsigned × signed bytes → 16 bits → 32 bits: AVX2 has no single instruction for this.
[[gnu::target("avx2")]] static void int8_avx2(int64_t rounds) {
  __m256i sum[sums] = {}, a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+x"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) {
      __asm__ volatile("" : "+x"(a), "+x"(b));
      sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"x"(sum[i]));
}

// AVX-512 -----------------------------------------------------------------------------------------------------------------

[[gnu::target("avx512f")]] static void f32_avx512(int64_t rounds) {
  __m512 sum[sums] = {}, a = _mm512_set1_ps(0.5f), b = _mm512_set1_ps(1.0f);
  __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+v"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) sum[i] = _mm512_fmadd_ps(sum[i], a, b);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"v"(sum[i]));
}

[[gnu::target("avx512f,avx512vnni")]] static void int8_vnni(int64_t rounds) {
  __m512i sum[sums] = {}, a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+v"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) sum[i] = _mm512_dpbusd_epi32(sum[i], a, b);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"v"(sum[i]));
}

[[gnu::target("avx512f,avx512bf16")]] static void bf16_avx512(int64_t rounds) {
  __m512 sum[sums] = {}, one = _mm512_set1_ps(1.0f);
  __m512i words = (__m512i)_mm512_cvtne2ps_pbh(one, one), others = words;
  __asm__ volatile("" : "+v"(words), "+v"(others)); // clang 16 takes no __m512bh here
  const __m512bh a = (__m512bh)words, b = (__m512bh)others;
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+v"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"v"(sum[i]));
}

// AMX ---------------------------------------------------------------------------------------------------------------------

// Six tiles of sums, one tile of each operand; all have 16 lines of 64 bytes.
static constexpr int tile_sums = 6;
static constexpr double tile_operations = 2.0 * 16 * 16 * 64; // one int8 product; bf16 has half as many

static void open_tiles() {
  amx::TileConfig config;
  for (int tile = 0; tile < tile_sums + 2; tile++) config.set(tile, amx::TILE_LINES);
  amx::configure(config); // sets all tiles to zero
}

static void int8_amx(int64_t rounds) {
  open_tiles();
  for (int64_t round = 0; round < rounds; round++) {
    amx::add_products_int8<0, 6, 7>();
    amx::add_products_int8<1, 6, 7>();
    amx::add_products_int8<2, 6, 7>();
    amx::add_products_int8<3, 6, 7>();
    amx::add_products_int8<4, 6, 7>();
    amx::add_products_int8<5, 6, 7>();
  }
  amx::release();
}

static void bf16_amx(int64_t rounds) {
  open_tiles();
  for (int64_t round = 0; round < rounds; round++) {
    amx::add_products_bf16<0, 6, 7>();
    amx::add_products_bf16<1, 6, 7>();
    amx::add_products_bf16<2, 6, 7>();
    amx::add_products_bf16<3, 6, 7>();
    amx::add_products_bf16<4, 6, 7>();
    amx::add_products_bf16<5, 6, 7>();
  }
  amx::release();
}

static constexpr RateLoop loops[] = {
    {"f32", "avx2", 2.0 * 8 * sums, [] { return cpu_features().avx2; }, f32_avx2},
    {"int8", "avx2", 2.0 * 32 * sums, [] { return cpu_features().avx2; }, int8_avx2},
    {"f32", "avx512", 2.0 * 16 * sums, [] { return cpu_features().avx512; }, f32_avx512},
    {"int8", "avx512", 2.0 * 64 * sums, [] { return cpu_features().avx512_vnni; }, int8_vnni},
    {"bf16", "avx512", 2.0 * 32 * sums, [] { return cpu_features().avx512_bf16; }, bf16_avx512},
    {"int8-tiles", "avx512", tile_operations * tile_sums, [] { return cpu_features().amx_int8; }, int8_amx},
    {"bf16-tiles", "avx512", tile_operations / 2 * tile_sums, [] { return cpu_features().amx_bf16; }, bf16_amx},
};

std::span<const RateLoop> rate_loops() { return loops; }

#else

std::span<const RateLoop> rate_loops() { return {}; }

#endif

} // namespace quern
