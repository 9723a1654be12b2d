#include "quern/open-file.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "quern/failure.h"

namespace quern {

void need_slice(const std::string& path, uint64_t bytes, uint64_t offset, uint64_t length) {
  if (length > bytes || offset > bytes - length)
    fail(Code::bad_weight, "%s has %llu bytes, but bytes %llu to %llu are asked for; the file may be truncated", path.c_str(),
         static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset),
         static_cast<unsigned long long>(offset + length));
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
    const auto failed = read_all(file, offset + at, std::min(piece, length - at), pages.data() + at);
    const std::lock_guard lock(mutex);
    if (failed) wrong = failed;
  });
  if (wrong) fail(Code::bad_weight, "%s %s", path.c_str(), wrong->c_str());
  return pages;
}

} // namespace quern
