#include "quern/mapped-file.h"

namespace quern {

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
