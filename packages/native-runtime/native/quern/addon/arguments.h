// Checked conversions of what JavaScript passes. All throw BAD_ARGUMENT. Getters of objects may run any code, `dispose` too: whoever
// calls these looks at the backend afterwards.
#pragma once
#include <napi.h>

#include <span>
#include <string>
#include <vector>

namespace quern {

// A whole number in [least, most].
int64_t to_integer(const Napi::Value& value, const char* name, int64_t least, int64_t most);

// A byte count or offset, exact in a double.
uint64_t to_bytes(const Napi::Value& value, const char* name);

// The number of a buffer, weight or captured plan.
int32_t to_id(const Napi::Value& value, const char* name);

std::string to_text(const Napi::Value& value, const char* name);

bool to_flag(const Napi::Value& value, const char* name);

// Dimensions of a weight.
std::vector<int64_t> to_shape(const Napi::Value& value, const char* name);

// The elements of a typed array, where they lie.
std::span<uint8_t> to_byte_span(const Napi::Value& value, const char* name);
std::span<int32_t> to_word_span(const Napi::Value& value, const char* name);
std::span<double> to_double_span(const Napi::Value& value, const char* name);

// The bytes of an ArrayBuffer, where they lie.
std::span<uint8_t> to_memory(const Napi::Value& value, const char* name);

} // namespace quern
