#include "quern/open-file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quern/failure.h"

namespace quern {

static int descriptor_of(const OpenFile& file) { return static_cast<int>(file.descriptor); }

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

static const char* advice_on(int error) { return error == EACCES ? "; check the permissions of the file and its folders" : ""; }

// O_NONBLOCK: opening a pipe must not wait for a writer.
OpenFile::OpenFile(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor < 0) fail(Code::bad_weight, "%s cannot be opened: %s%s", path.c_str(), strerror(errno), advice_on(errno));
  struct stat info;
  if (fstat(descriptor_of(*this), &info) != 0 || !S_ISREG(info.st_mode)) {
    close(descriptor_of(*this));
    fail(Code::bad_weight, "%s is not a file", path.c_str());
  }
  identity = identity_of(info);
}

OpenFile::~OpenFile() { close(descriptor_of(*this)); }

FileIdentity identity_at(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 ? identity_of(info) : FileIdentity{};
}

std::optional<std::string> read_all(const OpenFile& file, uint64_t offset, uint64_t length, uint8_t* to) {
  while (length > 0) {
    const ssize_t got = pread(descriptor_of(file), to, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return text("cannot be read at byte %llu: %s", static_cast<unsigned long long>(offset), strerror(errno));
    if (got == 0) return text("ends at byte %llu: it has shrunk", static_cast<unsigned long long>(offset));
    offset += got, length -= got, to += got;
  }
  return {};
}

} // namespace quern
