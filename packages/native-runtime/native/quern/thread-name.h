// Names that debuggers and `top -H` show.
#pragma once
#include <string>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace quern {

// At most 15 characters are kept.
inline void name_thread([[maybe_unused]] const std::string& name) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
#endif
}

} // namespace quern
