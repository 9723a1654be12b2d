// Files of weights, opened for mapping or reading.
#pragma once
#include <stdint.h>

#include <compare>
#include <optional>
#include <string>

#include "quern/pages.h"
#include "quern/parallel.h"

namespace quern {

// Identifies a file, and detects a later write to it.
struct FileIdentity {
  uint64_t device, inode, bytes;
  int64_t seconds, nanoseconds; // time of the last change
  auto operator<=>(const FileIdentity&) const = default;
};

class OpenFile {
 public:
  // Throws BAD_WEIGHT if the path cannot be opened or is not a regular file.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;

  const intptr_t descriptor; // on Windows its handle
  FileIdentity identity;
};

// Throws BAD_WEIGHT if [offset, offset + length) is outside a file of `bytes`.
void need_slice(const std::string& path, uint64_t bytes, uint64_t offset, uint64_t length);

// Reads `length` bytes at `offset`. Returns an error message on failure.
std::optional<std::string> read_all(const OpenFile& file, uint64_t offset, uint64_t length, uint8_t* to);

// A copy of a slice of a file, read in pieces. Throws BAD_WEIGHT or OUT_OF_MEMORY.
Pages read_slice(const std::string& path, uint64_t offset, uint64_t length, Parallel& parallel);

// Identity of the file at `path` now; all zeros if there is no file.
FileIdentity identity_at(const std::string& path);

} // namespace quern
