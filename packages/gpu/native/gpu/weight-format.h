// The formats of matrices on a GPU: those of kernels/formats.
#pragma once
#include <stdint.h>

#include <string>

namespace quern::gpu {

struct WeightFormat {
  const char* name;                // in files, and the suffix of kernels
  int block_values, block_bytes;   // of a block in files; dense: one value
  bool dense;                      // stored as in files; otherwise in planes
  int low, high, subscales;        // words, words and bytes of a group (kernels/formats/planes.h)
  int factors, span;               // 16-bit numbers of `span` groups

  uint64_t file_bytes(int64_t values) const { return uint64_t(values / block_values) * uint64_t(block_bytes); }
};

// Null if no kernel reads the format.
const WeightFormat* find_weight_format(const std::string& name);
const WeightFormat& f32_format();

}  // namespace quern::gpu
