// The instructions of tile.h in plain C++, after the pseudocode in the Intel SDM, volume 2: tests kernels on machines
// without AMX. Where the processor would raise #UD, the program ends.
#pragma once

namespace quern::amx {
namespace {

struct Tiles {
  TileConfig config;
  uint8_t data[8][TILE_LINES][TILE_LINE];
  bool configured;

  int lines(int tile) const { return config.lines[tile]; }
  int line_bytes(int tile) const { return config.line_bytes[tile]; }
};
constinit thread_local Tiles tiles = {};

inline void must(bool legal) {
  if (!legal) __builtin_trap();
}
inline void must_be_in_use(int tile) { must(tiles.configured && tiles.lines(tile) > 0 && tiles.line_bytes(tile) > 0); }

inline void clear(uint8_t* bytes, int64_t count) {
  for (int64_t i = 0; i < count; i++) bytes[i] = 0;
}
inline void clear_tiles() { clear(&tiles.data[0][0][0], sizeof tiles.data); }

inline void configure(const TileConfig& config) {
  must(config.palette == 1 && config.start_row == 0);
  for (uint8_t byte : config.reserved) must(byte == 0);
  for (int tile = 0; tile < 16; tile++) {
    must(config.lines[tile] <= TILE_LINES && config.line_bytes[tile] <= TILE_LINE);
    must((config.lines[tile] == 0) == (config.line_bytes[tile] == 0) && (tile < 8 || config.lines[tile] == 0));
  }
  tiles.config = config;
  tiles.configured = true;
  clear_tiles();
}

inline void release() {
  tiles.configured = false;
  clear_tiles();
}

template <int tile>
inline void zero() {
  must_be_in_use(tile);
  clear(tiles.data[tile][0], TILE_BYTES);
}

template <int tile>
inline void load(const void* at, int64_t stride) {
  zero<tile>();
  for (int line = 0; line < tiles.lines(tile); line++)
    __builtin_memcpy(tiles.data[tile][line], static_cast<const uint8_t*>(at) + line * stride, size_t(tiles.line_bytes(tile)));
}

template <int tile>
inline void stream(const void* at, int64_t stride) { load<tile>(at, stride); }

template <int tile>
inline void store(void* at, int64_t stride) {
  must_be_in_use(tile);
  for (int line = 0; line < tiles.lines(tile); line++)
    __builtin_memcpy(static_cast<uint8_t*>(at) + line * stride, tiles.data[tile][line], size_t(tiles.line_bytes(tile)));
}

template <class Value>
inline Value read(const uint8_t* at) {
  Value value;
  __builtin_memcpy(&value, at, sizeof value);
  return value;
}

// Shape rules of every product c [M][N] += a [M][K] · b [K][N], in 32-bit elements.
template <int c, int a, int b>
inline void must_fit() {
  static_assert(c != a && c != b && a != b);
  must_be_in_use(c), must_be_in_use(a), must_be_in_use(b);
  must(tiles.lines(c) == tiles.lines(a) && tiles.line_bytes(c) == tiles.line_bytes(b));
  must(tiles.line_bytes(a) == 4 * tiles.lines(b) && tiles.line_bytes(c) % 4 == 0);
}

template <int c, int a, int b>
inline void add_products_int8() {
  must_fit<c, a, b>();
  for (int m = 0; m < tiles.lines(c); m++)
    for (int k = 0; k < tiles.lines(b); k++)
      for (int n = 0; n < tiles.line_bytes(c) / 4; n++) {
        const uint8_t *const x = tiles.data[a][m] + 4 * k, *const w = tiles.data[b][k] + 4 * n;
        uint32_t sum = read<uint32_t>(tiles.data[c][m] + 4 * n); // wraps
        for (int i = 0; i < 4; i++) sum += uint32_t(int32_t(int8_t(x[i])) * int32_t(int8_t(w[i])));
        __builtin_memcpy(tiles.data[c][m] + 4 * n, &sum, sizeof sum);
      }
}

// DAZ and FTZ.
inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0, x) : x; }

// `sum` + product of two bf16, rounded once.
inline float fused(const uint8_t* x, const uint8_t* w, float sum) {
  const uint32_t x_bits = uint32_t(read<uint16_t>(x)) << 16, w_bits = uint32_t(read<uint16_t>(w)) << 16;
  return flushed(__builtin_fmaf(flushed(__builtin_bit_cast(float, x_bits)), flushed(__builtin_bit_cast(float, w_bits)), sum));
}

// Per 32-bit lane: one sum of products at even k, one at odd k, both from zero; then their sum is added to c.
template <int c, int a, int b>
inline void add_products_bf16() {
  must_fit<c, a, b>();
  for (int m = 0; m < tiles.lines(c); m++)
    for (int n = 0; n < tiles.line_bytes(c) / 4; n++) {
      float even = 0, odd = 0;
      for (int k = 0; k < tiles.lines(b); k++) {
        const uint8_t *const x = tiles.data[a][m] + 4 * k, *const w = tiles.data[b][k] + 4 * n;
        even = fused(x, w, even);
        odd = fused(x + 2, w + 2, odd);
      }
      const float sum = flushed(flushed(read<float>(tiles.data[c][m] + 4 * n)) + flushed(even + odd));
      __builtin_memcpy(tiles.data[c][m] + 4 * n, &sum, sizeof sum);
    }
}

} // namespace
} // namespace quern::amx
