// Thread names in debuggers and `top -H`.
#pragma once
#include <string>

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace quern {

// Longest name on Linux: 15 characters; the rest is cut.
inline void name_thread([[maybe_unused]] const std::string& name) {
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
#elif defined(__APPLE__)
  pthread_setname_np(name.c_str());
#endif
}

} // namespace quern
