#include "quern/addon/arguments.h"

#include <cmath>

#include "quern/failure.h"

namespace quern {

// Text of a primitive for an error message. An object's own `toString` is never called: it may run any code.
static std::string show(const Napi::Value& value) {
  if (value.IsNumber() || value.IsBoolean() || value.IsUndefined() || value.IsNull()) return value.ToString().Utf8Value();
  if (value.IsString()) return "a string";
  return value.IsObject() ? "an object" : "something else";
}

int64_t to_integer(const Napi::Value& value, const char* name, int64_t least, int64_t most) {
  const double number = value.IsNumber() ? value.As<Napi::Number>().DoubleValue() : NAN;
  if (!(number >= static_cast<double>(least) && number <= static_cast<double>(most)) || number != std::trunc(number))
    fail(Code::bad_argument, "%s must be a whole number from %lld to %lld; got %s", name,
         static_cast<long long>(least), static_cast<long long>(most), show(value).c_str());
  return static_cast<int64_t>(number);
}

uint64_t to_bytes(const Napi::Value& value, const char* name) {
  return static_cast<uint64_t>(to_integer(value, name, 0, int64_t{1} << 53));
}

int32_t to_id(const Napi::Value& value, const char* name) {
  return static_cast<int32_t>(to_integer(value, name, 0, INT32_MAX));
}

std::string to_text(const Napi::Value& value, const char* name) {
  if (!value.IsString()) fail(Code::bad_argument, "%s must be a string", name);
  return value.As<Napi::String>().Utf8Value();
}

bool to_flag(const Napi::Value& value, const char* name) {
  if (!value.IsBoolean()) fail(Code::bad_argument, "%s must be true or false; got %s", name, show(value).c_str());
  return value.As<Napi::Boolean>().Value();
}

std::vector<int64_t> to_shape(const Napi::Value& value, const char* name) {
  if (!value.IsArray()) fail(Code::bad_argument, "%s must be an array", name);
  const Napi::Array array = value.As<Napi::Array>();
  constexpr uint32_t most_dimensions = 16;
  if (array.Length() > most_dimensions) fail(Code::bad_argument, "%s has %u dimensions", name, array.Length());
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < array.Length(); i++) shape.push_back(to_integer(array[i], name, 0, int64_t{1} << 53));
  return shape;
}

template <class Element>
static std::span<Element> to_span(const Napi::Value& value, const char* name, napi_typedarray_type type,
                                  const char* type_name) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type)
    fail(Code::bad_argument, "%s must be a %s", name, type_name);
  auto array = value.As<Napi::TypedArrayOf<Element>>();
  return {array.Data(), array.ElementLength()};
}

std::span<uint8_t> to_byte_span(const Napi::Value& value, const char* name) {
  return to_span<uint8_t>(value, name, napi_uint8_array, "Uint8Array");
}

std::span<int32_t> to_word_span(const Napi::Value& value, const char* name) {
  return to_span<int32_t>(value, name, napi_int32_array, "Int32Array");
}

std::span<double> to_double_span(const Napi::Value& value, const char* name) {
  return to_span<double>(value, name, napi_float64_array, "Float64Array");
}

std::span<uint8_t> to_memory(const Napi::Value& value, const char* name) {
  if (!value.IsArrayBuffer()) fail(Code::bad_argument, "%s must be an ArrayBuffer", name);
  Napi::ArrayBuffer buffer = value.As<Napi::ArrayBuffer>();
  return {static_cast<uint8_t*>(buffer.Data()), buffer.ByteLength()};
}

} // namespace quern
