// While a file is mapped, Windows refuses to truncate it here; a server may do so for a file of a network.
#include "quern/mapped-file.h"

#include "quern/windows/windows.h"

namespace quern {

// The view keeps the file: neither handle is needed after it.
static const uint8_t* map_view(const OpenFile& file, const std::string& path) {
  const HANDLE mapping = CreateFileMappingW(reinterpret_cast<HANDLE>(file.descriptor), nullptr, PAGE_READONLY, 0, 0, nullptr);
  const void* const data = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : nullptr;
  const std::string error = data ? "" : last_error();
  if (mapping) CloseHandle(mapping);
  if (!data) fail(Code::bad_weight, "%s cannot be mapped: %s", path.c_str(), error.c_str());
  return static_cast<const uint8_t*>(data);
}

MappedFile::MappedFile(const OpenFile& file, const std::string& path) : path_(path), identity_(file.identity) {
  if (bytes() == 0) return;
  data_ = map_view(file, path);
  guard_.emplace(data_, bytes());
}

void MappedFile::prefetch(uint64_t offset, uint64_t bytes) const {
  WIN32_MEMORY_RANGE_ENTRY slice{const_cast<uint8_t*>(data_) + offset, static_cast<SIZE_T>(bytes)};
  if (bytes) PrefetchVirtualMemory(GetCurrentProcess(), 1, &slice, 0);
}

// Unlocking pages that are not locked takes them out of the process's memory.
void MappedFile::release(uint64_t offset, uint64_t bytes) const {
  if (bytes) VirtualUnlock(const_cast<uint8_t*>(data_) + offset, static_cast<SIZE_T>(bytes));
}

// Zeros in place of lost pages are no view. Another mapping may use the range afterwards: remove the guard first.
MappedFile::~MappedFile() {
  if (!data_) return;
  uint8_t* const data = const_cast<uint8_t*>(data_);
  const bool lost = guard_ && guard_->lost();
  guard_.reset();
  lost ? VirtualFree(data, 0, MEM_RELEASE) : UnmapViewOfFile(data);
}

} // namespace quern
