// Eight neighbouring values of a row on their way to products of matrices: loaded as stored, decoded later.
#pragma once
#include "dense-weights.h"
#include "formats/every.h"

namespace quern {
namespace gpu {

// Row i of all tiles, as a row of y; −1: none.
template <class Weights>
FUNCTION int row_of_y(ARGUMENTS const TileLinear<Weights>& args, int i) {
  if (i >= args.of.rows) return -1;
  return args.experts.rows ? args.experts.rows[i] : i;
}

// Eight values of a row, of a matrix with rows of `depth`: loaded as stored, decoded when they are needed.
template <class Matrix>
struct RowEight;

template <class Format>
struct RowEight<Dense<Format>> {
  enum { WORDS = int(sizeof(typename Format::Stored)) * 2 };
  unsigned words[WORDS];

  static FUNCTION bool loads_wide(Dense<Format> matrix, int depth) { return depth % 8 == 0 && aligned(matrix.values); }
  // Values at .. at + 7; 0 where fewer than that are left. `wide`: loads_wide.
  FUNCTION void load(Dense<Format> matrix, int64_t at, bool wide, int left) {
    UNROLL for (int i = 0; i < WORDS; i++) words[i] = 0;
    if (wide && left > 0)
      UNROLL for (int i = 0; i < WORDS; i += 4) {
        const Uint4 four = as<const Uint4>(matrix.values + at)[i / 4];
        UNROLL for (int j = 0; j < 4; j++) words[i + j] = four[j];
      }
    else
      UNROLL for (int i = 0; i < 8; i++)
        if (i < left) words[i * WORDS / 8] |= Format::bits(matrix.values[at + i]) << i * WORDS * 4 % 32;
  }
  FUNCTION Eight values(int) const {
    Eight eight;
    UNROLL for (int i = 0; i < 8; i++) eight.values[i] = Format::of_bits(words[i * WORDS / 8] >> i * WORDS * 4 % 32);
    return eight;
  }
};

template <class Format>
struct RowEight<Blocks<Format>> {
  StoredEight stored;

  static FUNCTION bool loads_wide(Blocks<Format>, int) { return true; }
  FUNCTION void load(Blocks<Format> matrix, int64_t at, bool, int left) { stored = left > 0 ? matrix.stored(at) : StoredEight{}; }
  FUNCTION Eight values(int at) const { return Blocks<Format>::decoded(stored, at % GROUP); }
};

} // namespace gpu
} // namespace quern
