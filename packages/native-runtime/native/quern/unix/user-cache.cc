#include "quern/user-cache.h"

#include <stdlib.h>

namespace quern {

std::string user_cache_folder() {
  const char *const cache = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
  if (cache && *cache == '/') return cache;
  return home && *home == '/' ? std::string(home) + "/.cache" : "";
}

} // namespace quern
