// Checks that are counted, and a line at the end.
#pragma once
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <string>
#include <vector>

namespace quern::gpu {

inline int checks = 0, failures = 0;

[[gnu::format(printf, 2, 3)]] inline void check(bool holds, const char* format, ...) {
  checks++;
  if (holds) return;
  failures++;
  va_list arguments;
  va_start(arguments, format);
  fputs("FAIL ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

// Launches take this seed of thread order and those behind it.
inline uint64_t first_seed() {
  const char* text = getenv("QUERN_EMULATED_SEED");
  return text ? strtoull(text, nullptr, 10) : 0;
}

// The exit status.
inline int report(const char* name) {
  printf("%s %s: %d checks, %d failed\n", failures ? "FAIL" : "PASS", name, checks, failures);
  return failures ? 1 : 0;
}

} // namespace quern::gpu
