// Checked conversions of JavaScript arguments. All throw BAD_ARGUMENT. Getters of objects may run any code, `dispose` too:
// a caller must check the backend again after these conversions.
#pragma once
#include <napi.h>

#include <span>
#include <string>
#include <vector>

namespace quern {

// An integer in [least, most].
int64_t to_integer(const Napi::Value& value, const char* name, int64_t least, int64_t most);

// A byte count or byte offset, exact in a double.
uint64_t to_bytes(const Napi::Value& value, const char* name);

// The id of a buffer, weight or captured plan.
int32_t to_id(const Napi::Value& value, const char* name);

std::string to_text(const Napi::Value& value, const char* name);

bool to_flag(const Napi::Value& value, const char* name);

// Shape of a weight.
std::vector<int64_t> to_shape(const Napi::Value& value, const char* name);

// The elements of a typed array, without a copy.
std::span<uint8_t> to_byte_span(const Napi::Value& value, const char* name);
std::span<int32_t> to_word_span(const Napi::Value& value, const char* name);
std::span<double> to_double_span(const Napi::Value& value, const char* name);

// The bytes of an ArrayBuffer, without a copy.
std::span<uint8_t> to_memory(const Napi::Value& value, const char* name);

} // namespace quern
