// table[t] = (cos(positions[t] · frequencies[i]) · magnitude, then the same with sin). A block per position.
// The angle is the exact product modulo 2π, computed in integers (Payne and Hanek 1983), rounded once.
#pragma once
#include "../dialect/dialect.h"

namespace quern {
namespace gpu {

struct RopeTable {
  Global<const int> positions;     // [blocks]
  Global<const float> frequencies; // [half]
  Global<float> table;             // [blocks, 2 · half]
  int pairs;
  float magnitude;
};

// 32 binary digits of 1 / 2π from digit `first` on; digit 0 is the first one behind the point. For first < 192.
FUNCTION unsigned digits_of_turn(int first) {
  const unsigned digits[] = {0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea};
  const int shift = first & 31, word = (first - shift) / 32;
  const unsigned left = word >= 0 ? digits[word] : 0, right = word >= -1 ? digits[word + 1] : 0;
  return shift == 0 ? left : left << shift | right >> (32 - shift);
}

// position · frequency modulo 2π, from −π to π. `bits`: those of the frequency.
FUNCTION float angle_of(int position, unsigned bits) {
  const int biased = int(bits >> 23 & 255);
  if (biased == 255) return infinity() - infinity(); // NaN
  const uint64_t whole = (bits & 0x7fffff) | (biased ? 0x800000 : 0); // frequency = whole · 2^exponent
  const int exponent = (biased ? biased : 1) - 150;
  const unsigned steps = position < 0 ? 0u - unsigned(position) : unsigned(position);
  const uint64_t product = steps * whole, low = product & 0xffffffff, high = product >> 32;
  // (high, low) · 2^exponent / 2π: the first 32 digits behind the point. Digits of 1 / 2π before `exponent` give whole turns.
  const uint64_t a = digits_of_turn(exponent), b = digits_of_turn(exponent + 32), c = digits_of_turn(exponent + 64);
  const uint64_t middle = (low * c >> 32) + (high * c & 0xffffffff) + (low * b & 0xffffffff);
  const unsigned turns = unsigned(low * a + high * b + (low * b >> 32) + (high * c >> 32) + (middle >> 32));
  const float angle = float(int(turns)) * 1.46291808e-9f; // 2π / 2^32
  return (position < 0) != (bits >> 31 != 0) ? -angle : angle;
}

KERNEL(rope_table, RopeTable) {
  const Global<const unsigned> bits = as<const unsigned>(args.frequencies);
  const Global<float> row = args.table + int64_t(block_index()) * 2 * args.pairs;
  for (int i = thread_index(); i < args.pairs; i += block_threads()) {
    const float angle = angle_of(args.positions[block_index()], bits[i]);
    row[i] = cosine(angle) * args.magnitude;
    row[args.pairs + i] = sine(angle) * args.magnitude;
  }
}

} // namespace gpu
} // namespace quern
