// Weights before loading, as core describes them.
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "quern/byte-source.h"

namespace quern {

// Rows of a weight: `rows` rows, columns [from, from + K) of stored rows of `of` elements. rows = 0: the whole weight.
struct WeightPart {
  ByteSource bytes;
  int64_t rows = 0, from = 0, of = 0;
};

// A weight as parts: the rows of all parts, one part after another.
struct WeightSource {
  std::string name;
  std::vector<int64_t> shape;
  std::string format;
  std::vector<WeightPart> parts;
};

// As GptqSource of core; group_index without bytes: columns are in order.
struct GptqSource {
  std::string name;
  int64_t N = 0, K = 0;
  int bits = 4;
  int64_t group_size = 0; // −1: one group
  int version = 1;
  ByteSource qweight, qzeros, scales, group_index;
};

} // namespace quern
