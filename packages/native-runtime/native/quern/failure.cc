#include "quern/failure.h"

#include <stdarg.h>
#include <stdio.h>

namespace quern {

const char* code_name(Code code) {
  switch (code) {
    case Code::bad_argument: return "BAD_ARGUMENT";
    case Code::disposed: return "DISPOSED";
    case Code::out_of_memory: return "OUT_OF_MEMORY";
    case Code::unsupported: return "UNSUPPORTED";
    case Code::bad_weight: return "BAD_WEIGHT";
    case Code::out_of_range: return "OUT_OF_RANGE";
    case Code::aborted: return "ABORTED";
    case Code::device_failed: break;
  }
  return "DEVICE_FAILED";
}

static std::string print(const char* format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  std::string out(vsnprintf(nullptr, 0, format, arguments), '\0');
  vsnprintf(out.data(), out.size() + 1, format, again);
  va_end(again);
  return out;
}

std::string text(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string out = print(format, arguments);
  va_end(arguments);
  return out;
}

void fail(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const std::string message = print(format, arguments);
  va_end(arguments);
  throw Failure(code, message);
}

std::string show_bytes(uint64_t bytes) {
  const char* const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = 0;
  double value = static_cast<double>(bytes);
  for (; value >= 1024 && unit < 6; unit++) value /= 1024;
  return text(unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

} // namespace quern
