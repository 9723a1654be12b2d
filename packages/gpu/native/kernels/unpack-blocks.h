// Blocks of a file → planes. A thread per group.
#pragma once
#include "formats/every.h"

namespace quern {
namespace gpu {

struct UnpackBlocks {
  Global<const unsigned char> file; // [count · 32 / VALUES] blocks
  Global<unsigned> low, high;       // of the first group; see Planes
  Global<unsigned char> subscales;
  Global<unsigned short> factors;
  int64_t count; // groups
};

template <class Format, int BITS>
FUNCTION unsigned word_of(Bytes block, int g, int word, int shift) {
  unsigned bits = 0;
  for (int i = 0; i < 32 / BITS; i++)
    bits |= (FileBlock<Format>::bits(block, g, word * (32 / BITS) + i) >> shift & ((1u << BITS) - 1)) << i * BITS;
  return bits;
}

template <class Format>
FUNCTION void unpack_group(UnpackBlocks args, int64_t at) {
  constexpr int OF_BLOCK = FileBlock<Format>::VALUES / GROUP, HIGH = Format::HIGH > 0 ? Format::HIGH : 1;
  const int g = int(at % OF_BLOCK);
  const Bytes block = args.file + at / OF_BLOCK * FileBlock<Format>::BYTES;
  for (int i = 0; i < Format::LOW; i++) args.low[at * Format::LOW + i] = word_of<Format, Format::LOW>(block, g, i, 0);
  for (int i = 0; i < Format::HIGH; i++) args.high[at * Format::HIGH + i] = word_of<Format, HIGH>(block, g, i, Format::LOW);
  for (int j = 0; j < Format::SUBSCALES; j++)
    args.subscales[at * Format::SUBSCALES + j] = (unsigned char)(FileBlock<Format>::subscale(block, g, j));
  if (at % Format::SPAN == 0)
    for (int j = 0; j < Format::FACTORS; j++)
      args.factors[at / Format::SPAN * Format::FACTORS + j] = (unsigned short)(FileBlock<Format>::factor(block, g, j));
}

template <class Format>
FUNCTION void unpack_blocks(UnpackBlocks args) {
  const int64_t threads = int64_t(grid_blocks()) * block_threads();
  for (int64_t at = int64_t(block_index()) * block_threads() + thread_index(); at < args.count; at += threads)
    unpack_group<Format>(args, at);
}

#define UNPACK(Format, name) \
  KERNEL(unpack_##name, UnpackBlocks) { unpack_blocks<Format>(args); }
EVERY_BLOCK_FORMAT(UNPACK)
#undef UNPACK

} // namespace gpu
} // namespace quern
