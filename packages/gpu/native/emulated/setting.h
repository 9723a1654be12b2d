// Settings of the emulated device, from the environment.
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <string_view>

namespace quern::gpu {

inline uint64_t setting(const char* name, uint64_t usual) {
  const char* text = getenv(name);
  return text && *text ? strtoull(text, nullptr, 10) : usual;
}

inline const char* text_setting(const char* name, const char* usual) {
  const char* text = getenv(name);
  return text && *text ? text : usual;
}

// Whether a setting is this name, or the start of it and *.
inline bool is_named(const char* setting, const char* name) {
  const std::string_view wanted(text_setting(setting, "")), given(name);
  return wanted.ends_with('*') ? given.starts_with(wanted.substr(0, wanted.size() - 1)) : wanted == given;
}

// A line in the file that a setting names, if it does.
inline void append_line(const char* name, const char* line) {
  const char* const path = getenv(name);
  FILE* const file = path ? fopen(path, "a") : nullptr;
  if (file) fprintf(file, "%s\n", line), fclose(file);
}

// A byte in such a file.
inline void append_byte(const char* name) {
  const char* const path = getenv(name);
  FILE* const file = path ? fopen(path, "a") : nullptr;
  if (file) fputc('.', file), fclose(file);
}

}  // namespace quern::gpu
