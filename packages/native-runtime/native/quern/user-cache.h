// A folder for files that programs can make again.
#pragma once
#include <string>

namespace quern {

// XDG_CACHE_HOME, or .cache in HOME; on Windows LOCALAPPDATA in place of the latter. Empty: none of them is an absolute path.
std::string user_cache_folder();

} // namespace quern
