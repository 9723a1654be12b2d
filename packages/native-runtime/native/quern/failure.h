// Errors with stable codes of core. They become BackendErrors in JavaScript.
#pragma once
#include <stdexcept>
#include <string>

namespace quern {

enum class Code {
  bad_argument,
  disposed,
  out_of_memory,
  unsupported,
  bad_weight,
  out_of_range,
  aborted,
  device_failed,
};

// The code's name in core's BackendErrorCode.
const char* code_name(Code code);

class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
  Code code;
};

// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...);

// Throws a Failure with a printf message.
[[noreturn]] [[gnu::format(printf, 2, 3)]] void fail(Code code, const char* format, ...);

// "1.5 GiB", "12 KiB", "7 bytes".
std::string show_bytes(uint64_t bytes);

} // namespace quern
