// Types of the tiles in tiles.h.
#pragma once
#include <stdint.h>

namespace quern {

constexpr int64_t PACKED_ROWS = 16;

using HalvesOfRows = uint16_t[PACKED_ROWS]; // f16
using Line = uint8_t[64];

// Values of 4-bit indices: iq4_nl and iq4_xs; twice the values of a 4-bit float (ggml-common.h).
constexpr int8_t iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
constexpr int8_t fp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

using BytesOfRows = uint8_t[PACKED_ROWS];
using SignedBytesOfRows = int8_t[PACKED_ROWS];

} // namespace quern
