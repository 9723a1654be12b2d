// Where the planes of a weight are in its memory.
#pragma once
#include "gpu/weight-format.h"
#include "kernels/formats/planes.h"

namespace quern::gpu {

struct PlaneOffsets {
  uint64_t low, high, subscales, factors, bytes;
};

// Of `groups` groups of 32 values. Each plane begins at 256 bytes.
inline PlaneOffsets plane_offsets(const WeightFormat& format, uint64_t groups) {
  const auto after = [](uint64_t start, uint64_t bytes) { return (start + bytes + 255) / 256 * 256; };
  PlaneOffsets at = {};
  at.high = after(0, groups * uint64_t(format.low) * 4);
  at.subscales = after(at.high, groups * uint64_t(format.high) * 4);
  at.factors = after(at.subscales, groups * uint64_t(format.subscales));
  at.bytes = after(at.factors, groups / uint64_t(format.span) * uint64_t(format.factors) * 2);
  return at;
}

inline Planes planes_of(uint8_t* data, const WeightFormat& format, uint64_t groups) {
  const PlaneOffsets at = plane_offsets(format, groups);
  return {reinterpret_cast<unsigned*>(data + at.low), reinterpret_cast<unsigned*>(data + at.high), data + at.subscales,
          reinterpret_cast<unsigned short*>(data + at.factors)};
}

}  // namespace quern::gpu
