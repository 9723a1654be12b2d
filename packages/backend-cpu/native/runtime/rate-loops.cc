#include "runtime/rate-loops.h"

#if defined(QUERN_X86)
#include <immintrin.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace quern {

#if defined(QUERN_X86)

// Accumulators of a loop: enough to hide the latency of every multiply-add, few enough for the registers.
static constexpr int sums = 12;

// An empty asm that "changes" an operand keeps the compiler from merging, hoisting or dropping what depends on it.

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

// Unsigned times signed bytes to 16 and then 32 bits: AVX2 has no instruction that does it in one.
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
  __m512bh a = _mm512_cvtne2ps_pbh(one, one), b = a;
  __asm__ volatile("" : "+v"(a), "+v"(b));
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" : "+v"(sum[i]));
  for (int64_t round = 0; round < rounds; round++)
#pragma GCC unroll 12
    for (int i = 0; i < sums; i++) sum[i] = _mm512_dpbf16_ps(sum[i], a, b);
#pragma GCC unroll 12
  for (int i = 0; i < sums; i++) __asm__ volatile("" ::"v"(sum[i]));
}

// AMX ---------------------------------------------------------------------------------------------------------------------

#if defined(__linux__)

// Six tiles of sums and one of each operand, all of 16 rows of 64 bytes.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static constexpr int tile_sums = 6;
static constexpr double tile_operations = 2.0 * 16 * 16 * 64; // of one product of int8; half of it for bf16

[[gnu::target("amx-tile")]] static void open_tiles() {
  const TileConfig config;
  __asm__ volatile("" ::"r"(&config) : "memory"); // the intrinsic does not tell the compiler that it reads memory
  _tile_loadconfig(&config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  _tile_zero(6);
  _tile_zero(7);
}

[[gnu::target("amx-tile,amx-int8")]] static void int8_amx(int64_t rounds) {
  open_tiles();
  for (int64_t round = 0; round < rounds; round++) {
    _tile_dpbssd(0, 6, 7);
    _tile_dpbssd(1, 6, 7);
    _tile_dpbssd(2, 6, 7);
    _tile_dpbssd(3, 6, 7);
    _tile_dpbssd(4, 6, 7);
    _tile_dpbssd(5, 6, 7);
  }
  _tile_release();
}

[[gnu::target("amx-tile,amx-bf16")]] static void bf16_amx(int64_t rounds) {
  open_tiles();
  for (int64_t round = 0; round < rounds; round++) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  _tile_release();
}

// Linux gives a process the tile registers when it asks (arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA).
static bool may_use_tiles() {
  static const bool allowed = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
  return allowed;
}

#endif

static constexpr RateLoop loops[] = {
    {"f32", "avx2", 2.0 * 8 * sums, [] { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }, f32_avx2},
    {"int8", "avx2", 2.0 * 32 * sums, [] { return __builtin_cpu_supports("avx2") > 0; }, int8_avx2},
    {"f32", "avx512", 2.0 * 16 * sums, [] { return __builtin_cpu_supports("avx512f") > 0; }, f32_avx512},
    {"int8", "avx512", 2.0 * 64 * sums, [] { return __builtin_cpu_supports("avx512vnni") > 0; }, int8_vnni},
    {"bf16", "avx512", 2.0 * 32 * sums, [] { return __builtin_cpu_supports("avx512bf16") > 0; }, bf16_avx512},
#if defined(__linux__)
    {"int8-tiles", "avx512", tile_operations * tile_sums,
     [] { return __builtin_cpu_supports("amx-int8") && may_use_tiles(); }, int8_amx},
    {"bf16-tiles", "avx512", tile_operations / 2 * tile_sums,
     [] { return __builtin_cpu_supports("amx-bf16") && may_use_tiles(); }, bf16_amx},
#endif
};

std::span<const RateLoop> rate_loops() { return loops; }

#else

std::span<const RateLoop> rate_loops() { return {}; }

#endif

} // namespace quern
