#include "quern/byte-source.h"

namespace quern {

HeldBytes HeldBytes::open(const ByteSource& source, FileMap& files, Parallel& parallel) {
  if (source.path.empty()) return {source.memory->data(), nullptr, source.memory};
  if (!source.mapped) {
    auto pages = std::make_shared<const Pages>(read_slice(source.path, source.offset, source.bytes, parallel));
    return {pages->data(), nullptr, pages};
  }
  auto file = files.open(source.path);
  need_slice(source.path, file->bytes(), source.offset, source.bytes);
  file->prefetch(source.offset, source.bytes);
  const uint8_t* const data = file->data() + source.offset;
  return {data, std::move(file), nullptr};
}

void HeldBytes::need_unchanged() const {
  if (!file) return;
  file->need_whole(Code::bad_weight);
  if (file->has_changed())
    fail(Code::bad_weight, "%s was written to while it was loaded; load it again once it is complete", file->path().c_str());
}

} // namespace quern
