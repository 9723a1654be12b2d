// Functions of Windows, and text for them: paths and messages are UTF-16 there and UTF-8 here.
#pragma once
#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>

#include <string>

namespace quern {

std::wstring to_utf16(const std::string& text);
std::string to_utf8(const std::wstring& text);

// "The system cannot find the file specified (error 2)", in the language of the system.
std::string shown_error(DWORD error);
inline std::string last_error() { return shown_error(GetLastError()); }

} // namespace quern
