// Strings of Foundation.
#pragma once
#include <string>

#include "metal/api.h"

namespace quern::metal {

inline std::string text_of(Object string) {
  const char* const text = utf8_string(string);
  return text ? text : "";
}
// Until the pool's end.
inline Object string_of(const std::string& text) { return string_with_utf8(Runtime::get().class_named("NSString"), text.c_str()); }
inline std::string told(Object error) { return error ? text_of(localized_description(error)) : "no reason is given"; }
// An object of a class, by `new`.
inline Owned made(const char* name) { return Owned(make(Runtime::get().class_named(name))); }

}  // namespace quern::metal
