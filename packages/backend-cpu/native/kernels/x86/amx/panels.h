// Panels of a block of keys and values, for attention in tiles.
#pragma once
#include "tiled-queries.h"

namespace quern::amx {
namespace {

// A set of keys of a block.
struct KeySet {
  uint64_t bits[ATTEND_KEYS / 64] = {};

  void add(int32_t j) { bits[j / 64] |= uint64_t{1} << j % 64; }
  template <class F>
  void each(F f) const {
    for (int32_t i = 0; i < ATTEND_KEYS / 64; i++)
      for (uint64_t left = bits[i]; left; left &= left - 1) f(i * 64 + __builtin_ctzll(left));
  }
};

// A block of keys. The place of a key: its position in the sequence modulo ATTEND_KEYS.
struct Block {
  const Keys& keys;
  int32_t first;             // place of the first key
  KeySet odd_keys, odd_values; // keys (by place) with elements that tiles cannot multiply: not finite, or beyond bf16

  explicit Block(const Keys& keys) : keys(keys), first(int32_t(keys.first % ATTEND_KEYS)) {}
  bool has(int32_t place) const { return place >= first && place < first + keys.count; }
  int64_t row(int32_t place) const { return keys.rows[place - first]; }
  Range steps() const { return {int32_t(first / STEP), int32_t((first + keys.count + STEP - 1) / STEP)}; }
};

inline bool is_nan(Floats x) { return _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q) != 0; }

// The keys with an element that two bf16 cannot represent.
template <class T>
inline KeySet find_odd(const T* cache, const Block& block, int64_t d) {
  KeySet odd;
  for (int32_t place = block.first; block.has(place); place++) {
    Floats check = set(0);
    for (int64_t at = 0; at < d; at += LANES)
      check = Halves(elements_or_zero(cache + block.row(place) + at, d - at), set(0)).check(check);
    if (is_nan(check)) odd.add(place);
  }
  return odd;
}

inline void transpose_tile(uint8_t* tile) {
  auto* const lines = reinterpret_cast<float*>(tile);
  Floats square[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) square[i] = load(lines + i * LANES);
  transpose(square);
#pragma GCC unroll 16
  for (int i = 0; i < LANES; i++) store(lines + i * LANES, square[i]);
}

// STEP elements of 16 keys from `place` on.
template <class T, int PARTS>
inline Floats pack_key_tile(const T* k, const Block& block, int32_t place, int64_t d, uint8_t* tile, Floats check) {
  for (int i = 0; i < LANES; i++, place++) {
    const bool has = block.has(place);
    const T* const key = has ? k + block.row(place) : k;
    const Halves halves(elements_or_zero(key, has ? d : 0), elements_or_zero(key + LANES, has ? d - LANES : 0));
    store_line(tile + i * TILE_LINE, halves.high);
    if constexpr (PARTS == 2) store_line(tile + TILE_BYTES + i * TILE_LINE, halves.low);
    check = halves.check(check);
  }
  transpose_tile(tile);
  if constexpr (PARTS == 2) transpose_tile(tile + TILE_BYTES);
  return check;
}

template <class T, int PARTS>
inline void pack_keys(const Attend& a, const Tiled& m, Block& block) {
  const auto* const k = static_cast<const T*>(a.k_cache);
  const Range steps = block.steps();
  Floats check = set(0);
  for (int32_t place = steps.from * int32_t(STEP); place < steps.to * STEP; place += LANES)
    for (int64_t i = 0; i < m.depth; i++)
      check = pack_key_tile<T, PARTS>(k + i * STEP, block, place, a.head_dim - i * STEP,
                                      m.keys + (place / LANES * m.depth + i) * PARTS * TILE_BYTES, check);
  if (is_nan(check)) block.odd_keys = find_odd(k, block, a.head_dim);
  if constexpr (has_scale<T>)
    for (int32_t place = block.first; block.has(place); place++) m.key_scales[place] = scale_of(k + block.row(place), a.head_dim);
}

// Line i of the tiles of a step: values i and i + 16.
template <class T, int PARTS>
inline Floats pack_value_lines(const T* first, const T* second, int64_t d, uint8_t* line, Floats check) {
  for (int64_t at = 0; at < d; at += LANES, line += PARTS * TILE_BYTES) {
    const Halves halves(first ? elements_or_zero(first + at, d - at) : set(0), second ? elements_or_zero(second + at, d - at) : set(0));
    store_line(line, halves.high);
    if constexpr (PARTS == 2) store_line(line + TILE_BYTES, halves.low);
    check = halves.check(check);
  }
  return check;
}

// Zeros in place of a value.
template <int PARTS>
inline void erase_value(const Tiled& m, int32_t place) {
  auto* words = reinterpret_cast<uint16_t*>(m.values + place / STEP * m.columns * PARTS * TILE_BYTES + place % LANES * TILE_LINE);
  words += place % STEP / LANES;
  for (int64_t tile = 0; tile < m.columns * PARTS; tile++, words += TILE_BYTES / 2)
    for (int i = 0; i < LANES; i++) words[2 * i] = 0;
}

inline void load_value_scales(const Attend& a, const Tiled& m, Block& block) {
  const auto* const v = static_cast<const int8_t*>(a.v_cache);
  for (int32_t place = 0; place < ATTEND_KEYS; place++) {
    const float scale = block.has(place) ? scale_of(v + block.row(place), a.head_dim) : 0;
    const bool finite = scale - scale == 0;
    m.value_scales[place] = finite ? scale : 1;
    if (!finite) block.odd_values.add(place);
  }
}

template <class T, int PARTS>
inline void pack_values(const Attend& a, const Tiled& m, Block& block) {
  const auto* const v = static_cast<const T*>(a.v_cache);
  const Range steps = block.steps();
  const auto value = [&](int32_t place) { return block.has(place) ? v + block.row(place) : nullptr; };
  Floats check = set(0);
  for (int32_t step = steps.from; step < steps.to; step++)
    for (int32_t i = 0; i < LANES; i++) {
      const int32_t place = step * int32_t(STEP) + i;
      uint8_t* const line = m.values + step * m.columns * PARTS * TILE_BYTES + i * TILE_LINE;
      check = pack_value_lines<T, PARTS>(value(place), value(place + LANES), a.head_dim, line, check);
    }
  if (is_nan(check)) block.odd_values = find_odd(v, block, a.head_dim);
  if constexpr (has_scale<T>) load_value_scales(a, m, block);
  block.odd_values.each([&](int32_t place) { erase_value<PARTS>(m, place); });
}

} // namespace
} // namespace quern::amx
