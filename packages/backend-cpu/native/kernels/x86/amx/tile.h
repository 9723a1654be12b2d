// The AMX tile instructions of all kernels. Template arguments are register numbers; shapes are those of the last
// `configure`. Assembly, because the compiler's wrappers accept only literal digits. QUERN_EMULATE_AMX: a model of AMX.
#pragma once
#include <stdint.h>

namespace quern::amx {
namespace {

constexpr int TILE_LINES = 16;  // maximum rows of a tile
constexpr int TILE_LINE = 64;   // maximum bytes of a line
constexpr int TILE_BYTES = TILE_LINES * TILE_LINE;

// Palette 1 (Intel SDM, volume 1, section 18.2): the memory operand of ldtilecfg.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t line_bytes[16] = {}; // of tiles 0 … 7
  uint8_t lines[16] = {};

  constexpr void set(int tile, int tile_lines, int bytes = TILE_LINE) {
    line_bytes[tile] = uint16_t(bytes);
    lines[tile] = uint8_t(tile_lines);
  }
};
static_assert(sizeof(TileConfig) == 64);

} // namespace
} // namespace quern::amx

#if defined(QUERN_EMULATE_AMX)
#include "emulated-tile.h"
#else

namespace quern::amx {
namespace {

inline void configure(const TileConfig& config) { __asm__ volatile("ldtilecfg %0" ::"m"(config)); }
// Back to the initial tile state: the system need not save tiles any more.
inline void release() { __asm__ volatile("tilerelease"); }

template <int tile>
inline void zero() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(tile));
}
// Loads the lines of a tile, `stride` bytes apart; `store` writes them back.
template <int tile>
inline void load(const void* at, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
// As load, for lines that are used once: they do not stay in L1.
template <int tile>
inline void stream(const void* at, int64_t stride) {
  __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm%c2" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void store(void* at, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
// c [M][N] += a [M][K] · b, int8 → int32; line q of b holds bytes 4q … 4q + 3 along K of every column.
template <int c, int a, int b>
inline void add_products_int8() {
  __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}
// As above, bf16 → f32; line q of b holds elements 2q and 2q + 1 along K of every column. Denormals count as zero.
template <int c, int a, int b>
inline void add_products_bf16() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}

} // namespace
} // namespace quern::amx

#endif
