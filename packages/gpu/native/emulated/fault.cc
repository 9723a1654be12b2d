#include "emulated/fault.h"

#include <stdarg.h>
#include <stdio.h>

namespace quern::gpu {

void fault(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  throw Fault(text);
}

} // namespace quern::gpu
