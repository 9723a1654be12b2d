#include "quern/mapped-file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "quern/unix/page-advice.h"

namespace quern {

MappedFile::MappedFile(const OpenFile& file, const std::string& path) : path_(path), identity_(file.identity) {
  if (bytes() == 0) return;
  void* mapped = mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, static_cast<int>(file.descriptor), 0);
  if (mapped == MAP_FAILED) fail(Code::bad_weight, "%s cannot be mapped: %s", path.c_str(), strerror(errno));
  auto* const data = static_cast<uint8_t*>(mapped);
  advise_huge_pages(data, bytes(), Filled::at_once);
  data_ = data;
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
