// Caches [blocks, block_size, heads, d] in the layout of core's kvAppend. i8 and u8 (E4M3): each head has d + 4 bytes; the last
// 4 are its scale.
#pragma once
#include "quern/op-view.h"

namespace quern::plain {

inline bool has_scales(DType dtype) { return dtype == DType::i8 || dtype == DType::u8; }

struct Cache {
  uint8_t* data;
  DType dtype;
  int64_t blocks, block_size, heads, d;

  int64_t slots() const { return blocks * block_size; }
  bool alike(const Cache& other) const {
    return dtype == other.dtype && blocks == other.blocks && block_size == other.block_size && heads == other.heads && d == other.d;
  }
  uint8_t* head(int64_t slot, int64_t head) const {
    return data + (slot * heads + head) * (d + (has_scales(dtype) ? 4 : 0)) * dtype_bytes[static_cast<int>(dtype)];
  }
  void put(const float* x, int64_t slot, int64_t head) const;
  void get(int64_t slot, int64_t head, float* x) const; // [d]
};

// Throws BAD_ARGUMENT unless the operand is a cache of `heads` heads of size d, of f32, f16, bf16, i8 or u8.
Cache cache(const OpView& op, int index, int64_t heads, int64_t d);

} // namespace quern::plain
