// What the emulated driver writes into a TensorMap.
#pragma once
#include <stdint.h>

#include "dialect/tensor-map.h"

namespace quern::gpu {

struct EncodedMap {
  static constexpr uint64_t made = 0x70616d726f736e65;
  static constexpr unsigned swizzled_bytes = 1024; // the pattern's, which begins at a multiple of them
  const uint8_t* address; // where Pointers find it
  uint64_t mark;      // `made`
  uint64_t columns, rows, pitch;   // values of 16 bits, rows, bytes
  uint32_t box_columns, box_rows;
  uint32_t swizzle; // CUtensorMapSwizzle: 0, none; 3, of 128 bytes

  uint32_t box_row_bytes() const { return box_columns * 2; }
  uint32_t box_bytes() const { return box_row_bytes() * box_rows; }
};
static_assert(sizeof(EncodedMap) <= sizeof(TensorMap));

// Faults unless the driver made the map.
EncodedMap decoded(const TensorMap& map);

} // namespace quern::gpu
