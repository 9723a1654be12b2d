#include "gpu/weight-format.h"

#include "kernels/formats/every.h"

namespace quern::gpu {

template <class Format>
static constexpr WeightFormat dense_format(const char* name) {
  return {name, 1, int(sizeof(typename Format::Stored)), true, 0, 0, 0, 0, 1};
}

template <class Format>
static constexpr WeightFormat block_format(const char* name) {
  using File = FileBlock<Format>;
  return {name, File::VALUES, File::BYTES, false, Format::LOW, Format::HIGH, Format::SUBSCALES, Format::FACTORS, Format::SPAN};
}

static constexpr WeightFormat formats[] = {
#define DENSE(Format, name) dense_format<Format>(#name),
#define BLOCKS(Format, name) block_format<Format>(#name),
    EVERY_DENSE_FORMAT(DENSE) EVERY_BLOCK_FORMAT(BLOCKS)
#undef DENSE
#undef BLOCKS
};

const WeightFormat* find_weight_format(const std::string& name) {
  for (const WeightFormat& format : formats)
    if (name == format.name) return &format;
  return nullptr;
}

const WeightFormat& f32_format() { return formats[0]; }

}  // namespace quern::gpu
