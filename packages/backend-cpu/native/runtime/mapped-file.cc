#include "runtime/mapped-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/failure.h"

namespace quern {

MappedFile::MappedFile(int descriptor, uint64_t bytes, const std::string& path) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) fail(Code::bad_weight, "%s cannot be mapped: %s", path.c_str(), strerror(errno));
  data_ = static_cast<const uint8_t*>(data);
}

void MappedFile::prefetch(uint64_t offset, uint64_t bytes) const {
  const uint64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
  if (bytes) madvise(const_cast<uint8_t*>(data_) + start, bytes + offset - start, MADV_WILLNEED);
}

void MappedFile::release(uint64_t offset, uint64_t bytes) const {
  const uint64_t page = sysconf(_SC_PAGESIZE), start = offset / page * page;
  if (bytes) madvise(const_cast<uint8_t*>(data_) + start, bytes + offset - start, MADV_DONTNEED);
}

MappedFile::~MappedFile() {
  if (data_) munmap(const_cast<uint8_t*>(data_), bytes_);
}

namespace {

// A file descriptor that closes itself.
class OpenFile {
 public:
  // Without O_NONBLOCK a pipe would be waited for.
  explicit OpenFile(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor < 0) fail(Code::bad_weight, "%s cannot be opened: %s", path.c_str(), strerror(errno));
  }
  ~OpenFile() { close(descriptor); }
  OpenFile(const OpenFile&) = delete;
  const int descriptor;
};

} // namespace

std::shared_ptr<const MappedFile> FileMap::open(const std::string& path) {
  const OpenFile file(path);
  struct stat info;
  if (fstat(file.descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    fail(Code::bad_weight, "%s is not a file", path.c_str());
  const uint64_t bytes = static_cast<uint64_t>(info.st_size);
  const Identity identity{info.st_dev, info.st_ino, bytes, info.st_mtim.tv_sec, info.st_mtim.tv_nsec};
  std::lock_guard lock(mutex_);
  std::erase_if(files_, [](const auto& entry) { return entry.second.expired(); });
  if (auto mapped = files_[identity].lock()) return mapped;
  auto mapped = std::make_shared<const MappedFile>(file.descriptor, bytes, path);
  files_[identity] = mapped;
  return mapped;
}

} // namespace quern
