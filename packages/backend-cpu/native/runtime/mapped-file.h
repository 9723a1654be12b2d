// Files mapped into memory, one mapping per file however many weights point into it.
#pragma once
#include <stdint.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

namespace quern {

// A whole file, read-only; unmapped with its last owner. Bytes are read from the disk when they are first touched: the
// process is killed by SIGBUS if the file has been cut short meanwhile, or if the disk fails. Replacing the file (a new
// file renamed over the old) is safe.
class MappedFile {
 public:
  // Maps `bytes` bytes of an open file. Throws BAD_WEIGHT where the system refuses.
  MappedFile(int descriptor, uint64_t bytes, const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  const uint8_t* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }
  // Asks the system to start reading a slice that is not in memory yet.
  void prefetch(uint64_t offset, uint64_t bytes) const;
  // Lets go of the memory that a slice takes in this process; touching it again reads it again.
  void release(uint64_t offset, uint64_t bytes) const;

 private:
  const uint8_t* data_ = nullptr;
  uint64_t bytes_;
};

// The files that are mapped now. Safe to use from any thread.
class FileMap {
 public:
  // The mapping of `path`, shared with those who hold it already. A file that was replaced or has grown is another
  // file. Throws BAD_WEIGHT where it cannot be opened or mapped.
  std::shared_ptr<const MappedFile> open(const std::string& path);

 private:
  using Identity = std::tuple<uint64_t, uint64_t, uint64_t, int64_t, int64_t>; // device, inode, bytes, changed at
  std::mutex mutex_;
  std::map<Identity, std::weak_ptr<const MappedFile>> files_;
};

} // namespace quern
