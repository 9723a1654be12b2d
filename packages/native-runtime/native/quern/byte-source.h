// Where the bytes of a weight come from.
#pragma once
#include <stdint.h>

#include <memory>
#include <string>

#include "quern/mapped-file.h"

namespace quern {

// A slice of a file, mapped or read into memory, or memory that nobody else writes to (then path is empty).
struct ByteSource {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool mapped = true;
  std::shared_ptr<const Pages> memory;
};

// Those bytes, and what they lie in: one of the two.
struct HeldBytes {
  const uint8_t* data = nullptr;
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<const Pages> memory;

  // Throws BAD_WEIGHT where there are no such bytes, OUT_OF_MEMORY.
  static HeldBytes open(const ByteSource& source, FileMap& files, Parallel& parallel);
  // Throws BAD_WEIGHT where the file has lost bytes, or has been written to, since it was mapped.
  void need_unchanged() const;
};

} // namespace quern
