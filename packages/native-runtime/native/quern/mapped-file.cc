#include "quern/mapped-file.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace quern {

MappedFile::MappedFile(const OpenFile& file, const std::string& path) : path_(path), identity_(file.identity) {
  if (bytes() == 0) return;
  void* data = mmap(nullptr, bytes(), PROT_READ, MAP_SHARED, file.descriptor, 0);
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

void MappedFile::need_whole(Code code) const {
  if (guard_ && guard_->lost())
    fail(code,
         "%s could not be read to its end while it was in use: it had %llu bytes and now has %llu; load the model again "
         "(mmap: false reads weights into memory, and needs the file no more)",
         path_.c_str(), static_cast<unsigned long long>(bytes()), static_cast<unsigned long long>(identity_at(path_).bytes));
}

// A removed or replaced file stays mapped unchanged.
bool MappedFile::has_changed() const {
  const FileIdentity now = identity_at(path_);
  return now.device == identity_.device && now.inode == identity_.inode && now != identity_;
}

// After munmap another mapping may use the range: remove the guard first.
MappedFile::~MappedFile() {
  guard_.reset();
  if (data_) munmap(const_cast<uint8_t*>(data_), bytes());
}

std::shared_ptr<const MappedFile> FileMap::open(const std::string& path) {
  const OpenFile file(path);
  std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  if (auto mapped = files_[file.identity].lock()) return mapped;
  auto mapped = std::make_shared<const MappedFile>(file, path);
  files_[file.identity] = mapped;
  return mapped;
}

} // namespace quern
