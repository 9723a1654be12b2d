// Files of weights, opened to be mapped or read.
#pragma once
#include <stdint.h>

#include <compare>
#include <string>

#include "quern/pages.h"
#include "quern/parallel.h"

namespace quern {

// What tells a file from others, and from what it was before it was written to.
struct FileIdentity {
  uint64_t device, inode, bytes;
  int64_t seconds, nanoseconds; // of its last change
  auto operator<=>(const FileIdentity&) const = default;
};

// An open file; it closes itself.
class OpenFile {
 public:
  // Throws BAD_WEIGHT for what cannot be opened or is no regular file.
  explicit OpenFile(const std::string& path);
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;

  const int descriptor;
  FileIdentity identity;
};

// Throws BAD_WEIGHT where a file of `bytes` has no such slice.
void need_slice(const std::string& path, uint64_t bytes, uint64_t offset, uint64_t length);

// A slice of a file in memory of its own, read in pieces. Throws BAD_WEIGHT or OUT_OF_MEMORY.
Pages read_slice(const std::string& path, uint64_t offset, uint64_t length, Parallel& parallel);

// The identity of the file that `path` names now; all zeros where there is none.
FileIdentity identity_at(const std::string& path);

} // namespace quern
