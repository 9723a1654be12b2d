// A lane's weights on their way into fragments of tensor cores, without shared memory. The sum over k has no order within a product, so
// a lane loads the k that lie side by side and takes part in products with just these; x has the same order (row-fragments.h).
//
// LaneWeights<Weights>:
//   STEPS       of 32 k that a load is for
//   EIGHTS      of a lane that lie side by side
//   SLOTS       loads that are under way, beside the one in use: as many as registers allow
//   load        of a row: where it begins and how long it is, in 8 values; behind its end, zeros or its last weights
//   fragments   of a step: eight weights as bf16, rounded to nearest once
#pragma once
#include "../../dialect/packed.h"
#include "lane-bytes.h"
#include "row-fragments.h"

namespace quern {
namespace gpu {

// Of a step, in pairs: words 0 and 1 are of its first product, 2 and 3 of its second.
struct LaneFragments {
  unsigned words[4];
};

template <class Weights>
struct LaneWeights;

// Rows begin at 16 bytes.
template <class Format>
struct LaneWeights<Dense<Format>> {
  enum { STEPS = DENSE_STEPS, EIGHTS = STEPS, SLOTS = 2 };
  Uint4 eight;

  FUNCTION void load(Dense<Format> w, int row, int of_row, int chunk) {
    const int at = chunk * 4 + lane() % 4;
    eight = at < of_row ? as<const Uint4>(w.values)[row + at] : Uint4{0, 0, 0, 0};
  }
  FUNCTION LaneFragments fragments(int) const { return of(eight, Format()); }

 private:
  static FUNCTION LaneFragments of(Uint4 eight, Bf16) { return {{eight[0], eight[1], eight[2], eight[3]}}; }
  static FUNCTION LaneFragments of(Uint4 eight, F16) {
    LaneFragments taken;
    UNROLL for (int i = 0; i < 4; i++) taken.words[i] = bf16_pair(F16::of_bits(eight[i] & 0xffff), F16::of_bits(eight[i] >> 16));
    return taken;
  }
};

template <class Format>
struct LaneWeights<Blocks<Format>> {
  enum { STEPS = steps_of_blocks(Format::LOW), EIGHTS = STEPS, SLOTS = STEPS == 2 && Format::HALVES == 1 ? 2 : 1, COUNT = EIGHTS * 8 };
  LaneBits<Format, COUNT> bits;
  Scales scales;

  FUNCTION void load(Blocks<Format> w, int row, int of_row, int chunk) {
    const int at = chunk * STEPS * 4 + lane() % 4 * EIGHTS;
    const int last = of_row - EIGHTS, from = row + (at < last ? at : last); // behind the end x is 0
    bits.load(w.planes, from);
    scales = scales_of<Format>(w.planes, from / 4);
  }
  FUNCTION LaneFragments fragments(int step) const {
    const int half = (lane() % 4 * COUNT + step * 8) % GROUP * Format::HALVES / GROUP;
    const float scale = Format::scale(scales.factors, scales.subscales, half), min = Format::min(scales.factors, scales.subscales, half);
    const Eight eight = LaneValues<Format>::of(bits, step, scale, min);
    LaneFragments taken;
    UNROLL for (int i = 0; i < 4; i++) taken.words[i] = bf16_pair(eight.values[2 * i], eight.values[2 * i + 1]);
    return taken;
  }
};

} // namespace gpu
} // namespace quern
