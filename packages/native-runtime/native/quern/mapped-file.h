// Files mapped into memory, one mapping per file however many weights point into it.
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

// A whole file, read-only; unmapped with its last owner. Bytes are read from the disk when they are first touched. If the file
// has been cut short meanwhile, or the disk fails, they read as zeros and `need_whole` throws. Replacing the file (a new file
// renamed over the old) is safe; writing into it changes the weights, which `has_changed` can tell as far as its times do.
class MappedFile {
 public:
  // Maps a whole file. Throws BAD_WEIGHT where the system refuses.
  MappedFile(const OpenFile& file, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return identity_.bytes; }
  // Asks the system to start reading a slice that is not in memory yet.
  void prefetch(uint64_t offset, uint64_t bytes) const;
  // Lets go of the memory that a slice takes in this process; touching it again reads it again.
  void release(uint64_t offset, uint64_t bytes) const;
  // Throws where bytes could not be read since the file was mapped.
  void need_whole(Code code) const;
  // Whether it has another size or time of change than when it was mapped. Asks the system.
  bool has_changed() const;

 private:
  const std::string path_;
  const FileIdentity identity_;
  const uint8_t* data_ = nullptr;
  std::optional<FaultGuard> guard_;
};

// The files that are mapped now. Safe to use from any thread.
class FileMap {
 public:
  // The mapping of `path`, shared with those who hold it already. A file that was replaced or has grown is another
  // file. Throws BAD_WEIGHT where it cannot be opened or mapped.
  std::shared_ptr<const MappedFile> open(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<FileIdentity, std::weak_ptr<const MappedFile>> files_;
};

} // namespace quern
