#include "quern/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <optional>

#include "quern/failure.h"

namespace quern {

static const timespec& time_of(const struct stat& info) {
#if defined(__APPLE__)
  return info.st_mtimespec;
#else
  return info.st_mtim;
#endif
}

static FileIdentity identity_of(const struct stat& info) {
  const timespec& time = time_of(info);
  return {static_cast<uint64_t>(info.st_dev), info.st_ino, static_cast<uint64_t>(info.st_size), time.tv_sec, time.tv_nsec};
}

// O_NONBLOCK: opening a pipe must not wait for a writer.
OpenFile::OpenFile(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor < 0) fail(Code::bad_weight, "%s cannot be opened: %s", path.c_str(), strerror(errno));
  struct stat info;
  if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor);
    fail(Code::bad_weight, "%s is not a file", path.c_str());
  }
  identity = identity_of(info);
}

OpenFile::~OpenFile() { close(descriptor); }

FileIdentity identity_at(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? identity_of(info) : FileIdentity{};
}

void need_slice(const std::string& path, uint64_t bytes, uint64_t offset, uint64_t length) {
  if (length > bytes || offset > bytes - length)
    fail(Code::bad_weight, "%s has %llu bytes, but bytes %llu to %llu are asked for; the file may be truncated", path.c_str(),
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset),
         static_cast<unsigned long long>(offset + length));
}

// Reads `length` bytes. Returns an error message on failure.
static std::optional<std::string> read_all(int descriptor, uint64_t offset, uint64_t length, uint8_t* to) {
  while (length > 0) {
    const ssize_t got = pread(descriptor, to, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return text("cannot be read at byte %llu: %s", static_cast<unsigned long long>(offset), strerror(errno));
    if (got == 0) return text("ends at byte %llu: it has shrunk", static_cast<unsigned long long>(offset));
    offset += got, length -= got, to += got;
  }
  return {};
}

Pages read_slice(const std::string& path, uint64_t offset, uint64_t length, Parallel& parallel) {
  constexpr uint64_t piece = 4 << 20;
  const OpenFile file(path);
  need_slice(path, file.identity.bytes, offset, length);
  Pages pages(length);
  std::mutex mutex;
  std::optional<std::string> wrong;
  parallel.each((length + piece - 1) / piece, [&](int64_t i) {
    const uint64_t at = i * piece;
    const auto failed = read_all(file.descriptor, offset + at, std::min(piece, length - at), pages.data() + at);
    const std::lock_guard lock(mutex);
    if (failed) wrong = failed;
  });
  if (wrong) fail(Code::bad_weight, "%s %s", path.c_str(), wrong->c_str());
  return pages;
}

} // namespace quern
