// Settings of the emulated device, from the environment.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

namespace quern::gpu {

inline uint64_t setting(const char* name, uint64_t usual) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, nullptr, 10) : usual;
}

inline const char* text_setting(const char* name, const char* usual) {
  const char* text = getenv(name);
  return text && *text ? text : usual;
}

// A line in the file that a setting names, if it does.
inline void tell(const char* name, const char* line) {
  const char* const path = getenv(name);
  FILE* const file = path ? fopen(path, "a") : nullptr;
  if (file) fprintf(file, "%s\n", line), fclose(file);
}

// A byte in such a file.
inline void tell_byte(const char* name) {
  const char* const path = getenv(name);
  FILE* const file = path ? fopen(path, "a") : nullptr;
  if (file) fputc('.', file), fclose(file);
}

}  // namespace quern::gpu
