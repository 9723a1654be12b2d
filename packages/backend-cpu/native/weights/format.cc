#include "weights/format.h"

namespace quern {

static constexpr FormatLayout formats[] = {
#define QUERN_FORMAT(name, NAME, block, block_bytes) {#name, FORMAT_##NAME, block, block_bytes},
#include "kernels/generated/formats.inc"
};

const FormatLayout* find_format(const std::string& name) {
  for (const FormatLayout& layout : formats)
    if (name == layout.name) return &layout;
  return nullptr;
}

const FormatLayout& layout_of(Format format) { return formats[format]; }

} // namespace quern
