// Memory-mapped files: one mapping per file, shared by all weights in the file.
#pragma once
#include <stdint.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "quern/failure.h"
#include "quern/fault-guard.h"
#include "quern/open-file.h"

namespace quern {

// A whole file, read-only; unmapped with its last owner. The disk is read at the first touch of a page. If the file is
// truncated or the disk fails, bytes read as zeros and `need_whole` throws. Replacing the file (rename over the old one)
// is safe. Writing into the file changes the weights; `has_changed` detects a write by the file's size and times.
class MappedFile {
 public:
  // Throws BAD_WEIGHT if the system refuses.
  MappedFile(const OpenFile& file, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return identity_.bytes; }
  // Asks the system to start reading a slice.
  void prefetch(uint64_t offset, uint64_t bytes) const;
  // Drops a slice from this process's memory; the next touch reads the file again.
  void release(uint64_t offset, uint64_t bytes) const;
  // Throws if bytes were unreadable since mapping.
  void need_whole(Code code) const;
  // Whether size or modification time differ from those at mapping. One system call.
  bool has_changed() const;

 private:
  const std::string path_;
  const FileIdentity identity_;
  const uint8_t* data_ = nullptr;
  std::optional<FaultGuard> guard_;
};

// The currently mapped files. Any thread.
class FileMap {
 public:
  // The shared mapping of `path`. A replaced or grown file counts as another file. Throws BAD_WEIGHT if the file cannot be
  // opened or mapped.
  std::shared_ptr<const MappedFile> open(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<FileIdentity, std::weak_ptr<const MappedFile>> files_;
};

} // namespace quern
