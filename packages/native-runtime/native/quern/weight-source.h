// Weights before they are loaded, as core describes them.
#pragma once
#include <stdint.h>

#include <string>
#include <vector>

#include "quern/byte-source.h"

namespace quern {

// `rows` rows of a weight: columns [from, from + K) of rows of `of` elements. rows 0: the whole weight.
struct WeightPart {
  ByteSource bytes;
  int64_t rows = 0, from = 0, of = 0;
};

// Parts whose rows follow one another.
struct WeightSource {
  std::string name;
  std::vector<int64_t> shape;
  std::string format;
  std::vector<WeightPart> parts;
};

// As core's GptqSource says; group_index has no bytes where the columns are in order.
struct GptqSource {
  std::string name;
  int64_t N = 0, K = 0;
  int bits = 4;
  int64_t group_size = 0; // −1: one group
  int version = 1;
  ByteSource qweight, qzeros, scales, group_index;
};

} // namespace quern
