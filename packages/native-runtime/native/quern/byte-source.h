// Where the bytes of a weight come from.
#pragma once
#include <stdint.h>

#include <memory>
#include <string>

#include "quern/mapped-file.h"

namespace quern {

// A slice of a file, mapped or read; or memory that no other code writes (`path` is empty).
struct ByteSource {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool mapped = true;
  std::shared_ptr<const Pages> memory;
};

// The bytes of a ByteSource. Owner: a mapped file, or pages; one of the two.
struct HeldBytes {
  const uint8_t* data = nullptr;
  std::shared_ptr<const MappedFile> file;
  std::shared_ptr<const Pages> memory;

  // Throws BAD_WEIGHT if the source lacks these bytes, OUT_OF_MEMORY.
  static HeldBytes open(const ByteSource& source, FileMap& files, Parallel& parallel);
  // Throws BAD_WEIGHT if the file has lost bytes or changed since mapping.
  void need_unchanged() const;
};

} // namespace quern
