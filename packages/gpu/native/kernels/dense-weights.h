// Dense weights: loads of 16 bytes, and the arguments of products.
#pragma once
#include "formats.h"

namespace quern {
namespace gpu {

// 16 bytes of a format: the type of a load, how many values it has, and value i.
template <class Format>
struct Wide {
  using Loaded = Uint4;
  enum { count = 8 };
  static FUNCTION float value(Uint4 loaded, int i) { return Format::value((unsigned short)(loaded[i / 2] >> i % 2 * 16)); }
};
template <>
struct Wide<F32> {
  using Loaded = Float4;
  enum { count = 4 };
  static FUNCTION float value(Float4 loaded, int i) { return loaded[i]; }
};

// An array by index.
template <class Format>
struct Dense {
  Global<const typename Format::Stored> values;
  FUNCTION float at(int64_t i) const { return Format::value(values[i]); }
};

// Weights: an array by index (Dense, Blocks), or how it is stored.
template <class Weights>
struct Linear {
  Global<const float> x;    // [rows, depth]
  Weights w;                // [columns, depth]
  Global<const float> bias; // [columns], or null
  Global<float> y;          // [rows, columns]
  int rows, columns, depth;
};

// Tiles of a mixture's product: a tile has rows of one expert. Without rows: of one matrix, all rows in order.
struct ExpertTiles {
  Global<const int> rows;    // [tiles, rows of a tile]: of y; −1: none. Null: of one matrix
  Global<const int> of_tile; // [tiles]: the expert; −1: there is no such tile
  int chosen;                // rows of y for a row of x
};

template <class Weights>
struct TileLinear {
  Linear<Weights> of; // w: [experts, columns, depth]; rows: of all tiles
  ExpertTiles experts;
};

} // namespace gpu
} // namespace quern
