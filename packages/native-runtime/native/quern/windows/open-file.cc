#include "quern/open-file.h"

#include <optional>

#include "quern/failure.h"
#include "quern/windows/windows.h"

namespace quern {

static HANDLE handle_of(const OpenFile& file) { return reinterpret_cast<HANDLE>(file.descriptor); }

// The whole path, of more than 259 characters in the form that has no limit.
static std::wstring path_for_system(const std::string& path) {
  const std::wstring given = to_utf16(path);
  std::wstring whole(GetFullPathNameW(given.c_str(), 0, nullptr, nullptr), L'\0'); // with its end
  whole.resize(GetFullPathNameW(given.c_str(), static_cast<DWORD>(whole.size()), whole.data(), nullptr));
  if (whole.size() < MAX_PATH || whole.starts_with(L"\\\\?\\") || whole.starts_with(L"\\\\.\\")) return whole;
  return whole.starts_with(L"\\\\") ? L"\\\\?\\UNC" + whole.substr(1) : L"\\\\?\\" + whole;
}

// Other programs may read, write, rename and remove the file, as on other systems.
static HANDLE open_handle(const std::string& path, DWORD access) {
  constexpr DWORD shared = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
  return CreateFileW(path_for_system(path).c_str(), access, shared, nullptr, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr);
}

static uint64_t joined(DWORD high, DWORD low) { return static_cast<uint64_t>(high) << 32 | low; }

// False if it is not a file of a disk.
static bool identify(HANDLE handle, FileIdentity& identity) {
  BY_HANDLE_FILE_INFORMATION info;
  if (GetFileType(handle) != FILE_TYPE_DISK || !GetFileInformationByHandle(handle, &info)) return false;
  constexpr uint64_t ticks = 10000000; // of 100 ns in a second
  const uint64_t written = joined(info.ftLastWriteTime.dwHighDateTime, info.ftLastWriteTime.dwLowDateTime);
  identity = {info.dwVolumeSerialNumber, joined(info.nFileIndexHigh, info.nFileIndexLow), joined(info.nFileSizeHigh, info.nFileSizeLow),
              static_cast<int64_t>(written / ticks), static_cast<int64_t>(written % ticks * 100)};
  return true;
}

static bool is_folder(const std::string& path) {
  const DWORD attributes = GetFileAttributesW(path_for_system(path).c_str());
  return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

static const char* advice_on(DWORD error) {
  if (error == ERROR_SHARING_VIOLATION || error == ERROR_LOCK_VIOLATION) return "; another program has it open: close that program";
  return error == ERROR_ACCESS_DENIED ? "; check the permissions of the file and its folders" : "";
}

static intptr_t open_to_read(const std::string& path) {
  const HANDLE handle = open_handle(path, GENERIC_READ);
  if (handle != INVALID_HANDLE_VALUE) return reinterpret_cast<intptr_t>(handle);
  const DWORD error = GetLastError();
  if (is_folder(path)) fail(Code::bad_weight, "%s is not a file", path.c_str());
  fail(Code::bad_weight, "%s cannot be opened: %s%s", path.c_str(), shown_error(error).c_str(), advice_on(error));
}

OpenFile::OpenFile(const std::string& path) : descriptor(open_to_read(path)) {
  if (identify(handle_of(*this), identity)) return;
  CloseHandle(handle_of(*this));
  fail(Code::bad_weight, "%s is not a file", path.c_str());
}

OpenFile::~OpenFile() { CloseHandle(handle_of(*this)); }

FileIdentity identity_at(const std::string& path) {
  FileIdentity identity{};
  const HANDLE handle = open_handle(path, FILE_READ_ATTRIBUTES);
  if (handle == INVALID_HANDLE_VALUE) return identity;
  identify(handle, identity);
  CloseHandle(handle);
  return identity;
}

std::optional<std::string> read_all(const OpenFile& file, uint64_t offset, uint64_t length, uint8_t* to) {
  constexpr uint64_t most = 1 << 30; // of one read
  while (length > 0) {
    OVERLAPPED at{};
    at.Offset = static_cast<DWORD>(offset), at.OffsetHigh = static_cast<DWORD>(offset >> 32);
    DWORD got = 0;
    const bool read = ReadFile(handle_of(file), to, static_cast<DWORD>(length < most ? length : most), &got, &at);
    if (read ? got == 0 : GetLastError() == ERROR_HANDLE_EOF)
      return text("ends at byte %llu: it has shrunk", static_cast<unsigned long long>(offset));
    if (!read) return text("cannot be read at byte %llu: %s", static_cast<unsigned long long>(offset), last_error().c_str());
    offset += got, length -= got, to += got;
  }
  return {};
}

} // namespace quern
