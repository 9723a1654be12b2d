// Block sizes of the weight formats, as in @quern/quant.
#pragma once
#include <string>

#include "kernels/kernels.h"

namespace quern {

struct FormatLayout {
  const char* name;
  Format format;
  int64_t block;       // elements per block
  int64_t block_bytes; // bytes per block

  int64_t row_bytes(int64_t width) const { return width / block * block_bytes; }
};

// The layout of a format by its name, or nullptr.
const FormatLayout* find_format(const std::string& name);
const FormatLayout& layout_of(Format format);

} // namespace quern
