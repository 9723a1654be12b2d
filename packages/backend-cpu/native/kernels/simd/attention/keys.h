// Addresses of a block's keys in the paged cache, and the range of keys that a query sees.
#pragma once
#include <string.h>

namespace quern::QUERN_ISA {
namespace {

// A separate type: load() must distinguish bf16 from f16.
struct Bf16 {
  uint16_t bits;
};
inline Floats load(const Bf16* p) { return load_bf16(&p->bits); }
inline Floats load(const Bf16* p, int64_t n) { return load_bf16(&p->bits, n); }

// int8 elements are multiples of their row's scale: the scale multiplies the score of a key, or the weight of a value.
template <class T> constexpr bool has_scale = false;
template <> inline constexpr bool has_scale<int8_t> = true;

inline float scale_of(const int8_t* row, int32_t d) {
  float scale;
  memcpy(&scale, row + d, sizeof scale);
  return scale;
}

struct Keys {
  int64_t rows[ATTEND_KEYS]; // offset of each key in the cache, in elements
  int32_t first, count;      // keys [first, first + count) of the sequence
};

// Keys of a block, relative to its first key.
struct Range {
  int32_t from, to;
  bool empty() const { return from >= to; }
};

inline int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
inline int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

// Keys of the block that query r sees.
inline Range seen(const Attend& a, const Keys& keys, int32_t r) {
  const int32_t position = a.position + r / a.group - keys.first;
  const int32_t from = a.window > 0 ? larger(0, position - a.window + 1) : 0;
  return {from, a.causal ? smaller(keys.count, position + 1) : keys.count};
}

// Offset of a key in the cache, in elements.
inline int64_t row_of(const Attend& a, int32_t key) {
  const int64_t row = cache_row(a.type, a.head_dim);
  const int64_t slot = int64_t(a.block_table[key / a.block_size]) * a.block_size + key % a.block_size;
  return (slot * a.kv_heads + a.kv_head) * row;
}

// Walks the block table.
inline void locate(const Attend& a, Keys& keys) {
  const int64_t stride = a.kv_heads * cache_row(a.type, a.head_dim);
  const int64_t head = a.kv_head * cache_row(a.type, a.head_dim);
  int32_t block = keys.first / a.block_size;
  int32_t slot = keys.first % a.block_size;
  for (int32_t j = 0; j < keys.count; block++, slot = 0) {
    int64_t row = (int64_t(a.block_table[block]) * a.block_size + slot) * stride + head;
    for (; slot < a.block_size && j < keys.count; slot++, row += stride) keys.rows[j++] = row;
  }
}

// Calls body(keys) for each block with a key that some row of the call sees.
template <class F>
inline void each_block(const Attend& a, F body) {
  const int32_t last = a.position + a.rows - 1;
  const int32_t seen_first = a.window > 0 ? larger(a.first_key, a.position - a.window + 1) : a.first_key;
  const int32_t first = seen_first / 2 * 2; // pairs of keys are independent of the rows
  const int32_t end = a.causal ? smaller(a.end_key, last + 1) : a.end_key;
  Keys keys;
  for (keys.first = first; keys.first < end; keys.first += keys.count) {
    const int32_t next = int32_t((keys.first / ATTEND_KEYS + 1) * ATTEND_KEYS);
    keys.count = smaller(next, end) - keys.first;
    locate(a, keys);
    body(keys);
  }
}

} // namespace
} // namespace quern::QUERN_ISA
