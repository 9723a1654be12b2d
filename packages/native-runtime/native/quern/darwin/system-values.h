// Values by name of Apple's systems: `sysctl hw` lists them.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/sysctl.h>

#include <string>

namespace quern {

// A whole number of 4 or 8 bytes; `otherwise` where the machine has no such value.
inline uint64_t system_number(const char* name, uint64_t otherwise) {
  uint64_t value = 0; // a value of 4 bytes fills the lower half: these machines are little-endian
  size_t bytes = sizeof value;
  return sysctlbyname(name, &value, &bytes, nullptr, 0) == 0 ? value : otherwise;
}

// Empty where the machine has no such value.
inline std::string system_text(const char* name) {
  char text[128] = {};
  size_t bytes = sizeof text - 1;
  return sysctlbyname(name, text, &bytes, nullptr, 0) == 0 ? text : "";
}

} // namespace quern
