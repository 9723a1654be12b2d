#include "quern/windows/windows.h"

#include "quern/failure.h"

namespace quern {

std::wstring to_utf16(const std::string& text) {
  const int bytes = static_cast<int>(text.size());
  std::wstring wide(static_cast<size_t>(MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), bytes, wide.data(), static_cast<int>(wide.size()));
  return wide;
}

std::string to_utf8(const std::wstring& text) {
  const int length = static_cast<int>(text.size());
  std::string bytes(static_cast<size_t>(WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr)), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), length, bytes.data(), static_cast<int>(bytes.size()), nullptr, nullptr);
  return bytes;
}

std::string shown_error(DWORD error) {
  wchar_t message[512];
  constexpr DWORD from_system = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD length = FormatMessageW(from_system, nullptr, error, 0, message, 512, nullptr);
  while (length > 0 && (message[length - 1] <= L' ' || message[length - 1] == L'.')) length--;
  return text("%s (error %lu)", length > 0 ? to_utf8({message, length}).c_str() : "unknown", error);
}

} // namespace quern
