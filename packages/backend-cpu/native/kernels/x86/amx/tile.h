// The tile instructions of AMX: every one that the kernels use goes through here. Registers are numbered by the template
// arguments; shapes are those of the last `configure`. Written as assembly because the compiler's own wrappers take
// nothing but literal digits. With QUERN_EMULATE_AMX a model of the architecture takes their place.
#pragma once
#include <stdint.h>

namespace quern::amx {
namespace {

constexpr int TILE_LINES = 16;  // most rows of a tile
constexpr int TILE_LINE = 64;   // most bytes of one
constexpr int TILE_BYTES = TILE_LINES * TILE_LINE;

// Palette 1 (Intel SDM, volume 1, section 18.2): what ldtilecfg reads.
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
// Tiles as they were before: the system need not save them any more.
inline void release() { __asm__ volatile("tilerelease"); }

template <int tile>
inline void zero() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(tile));
}
// The lines of a tile from memory, `stride` bytes apart, and back.
template <int tile>
inline void load(const void* at, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
template <int tile>
inline void store(void* at, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(at), "r"(stride), "i"(tile) : "memory");
}
// c [M][N] += a [M][K] · b: int8 to int32; line q of b holds bytes 4q … 4q + 3 along K of every column.
template <int c, int a, int b>
inline void add_products_int8() {
  __asm__ volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}
// The same of bf16 to f32; line q of b holds 2q and 2q + 1 along K of every column. Denormals count as zeros.
template <int c, int a, int b>
inline void add_products_bf16() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(c), "i"(a), "i"(b));
}

} // namespace
} // namespace quern::amx

#endif
