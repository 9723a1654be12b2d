#include "quern/mapped-file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace quern {

MappedFile::MappedFile(const OpenFile& file, const std::string& path) : path_(path), identity_(file.identity) {
  if (bytes() == 0) return;
  void* data = mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, static_cast<int>(file.descriptor), 0);
  if (data == MAP_FAILED) fail(Code::bad_weight, "%s cannot be mapped: %s", path.c_str(), strerror(errno));
  data_ = static_cast<const uint8_t*>(data);
  guard_.emplace(data_, bytes());
}

void MappedFile::prefetch(uint64_t offset, uint64_t bytes) const {
  const uint64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
  if (bytes) madvise(const_cast<uint8_t*>(data_) + start, bytes + offset - start, MADV_WILLNEED);
}

void MappedFile::release(uint64_t offset, uint64_t bytes) const {
  const uint64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
  if (bytes) madvise(const_cast<uint8_t*>(data_) + start, bytes + offset - start, MADV_DONTNEED);
}

// After munmap another mapping may use the range: remove the guard first.
MappedFile::~MappedFile() {
  guard_.reset();
  if (data_) munmap(const_cast<uint8_t*>(data_), bytes());
}

} // namespace quern
