// Thread names in debuggers and `top -H`.
#pragma once
#include <string>

#if defined(__linux__)
#include <pthread.h>
#endif

namespace quern {

// Longest name: 15 characters; the rest is cut.
inline void name_thread([[maybe_unused]] const std::string& name) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
#endif
}

} // namespace quern
