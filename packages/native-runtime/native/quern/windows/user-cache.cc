#include "quern/user-cache.h"

#include <filesystem>

#include "quern/windows/windows.h"

namespace quern {

// Empty: no such variable, or no absolute path.
static std::string folder_named(const wchar_t* variable) {
  std::wstring value(GetEnvironmentVariableW(variable, nullptr, 0), L'\0'); // with its end
  value.resize(GetEnvironmentVariableW(variable, value.data(), static_cast<DWORD>(value.size())));
  return std::filesystem::path(value).is_absolute() ? to_utf8(value) : "";
}

std::string user_cache_folder() {
  const std::string chosen = folder_named(L"XDG_CACHE_HOME");
  return chosen.empty() ? folder_named(L"LOCALAPPDATA") : chosen;
}

} // namespace quern
