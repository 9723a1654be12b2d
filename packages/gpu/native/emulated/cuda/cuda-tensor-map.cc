#include "emulated/tensor-map.h"

#include <string.h>

#include "emulated/cuda/driver-context.h"

using namespace quern::gpu;

// What the driver API refuses, of matrices of bf16.
static bool is_valid(const EncodedMap& map) {
  constexpr uint64_t most = uint64_t(1) << 32, most_pitch = uint64_t(1) << 40;
  const auto fits = [](uint64_t dimension) { return dimension > 0 && dimension <= most; };
  const auto is_box = [](uint32_t size) { return size > 0 && size <= 256; };
  return reinterpret_cast<uintptr_t>(map.address) % 16 == 0 && fits(map.columns) && fits(map.rows) && map.pitch % 16 == 0 &&
         map.pitch < most_pitch && is_box(map.box_columns) && is_box(map.box_rows) && map.box_row_bytes() % 16 == 0 &&
         (map.swizzle == no_swizzle || (map.swizzle == swizzle_of_128_bytes && map.box_row_bytes() <= 128));
}

EXPORT cuTensorMapEncodeTiled(TensorMap* map, int type, unsigned rank, void* address, const uint64_t* sizes, const uint64_t* pitches,
                              const uint32_t* box, const uint32_t* strides, int interleave, int swizzle, int promotion, int fill) {
  if (reinterpret_cast<uintptr_t>(map) % 64 != 0 || type != tensor_bf16 || rank != 2) return invalid_value;
  if (strides[0] != 1 || strides[1] != 1 || interleave != 0 || promotion < 0 || promotion > 3 || fill != 0) return invalid_value;
  const EncodedMap encoded{static_cast<uint8_t*>(address), EncodedMap::made, sizes[0], sizes[1], pitches[0], box[0], box[1], uint32_t(swizzle)};
  if (!is_valid(encoded)) return invalid_value;
  *map = {};
  memcpy(map, &encoded, sizeof encoded);
  return success;
}
