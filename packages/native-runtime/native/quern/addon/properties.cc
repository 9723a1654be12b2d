#include "quern/addon/properties.h"

#include "quern/failure.h"

namespace quern {

Napi::Value to_object(Napi::Env env, const Properties& properties) {
  Napi::Object object = Napi::Object::New(env);
  for (const Property& property : properties)
    if (const auto* const inner = std::get_if<Properties>(&property.value)) object[property.name] = to_object(env, *inner);
    else if (const auto* const text = std::get_if<std::string>(&property.value)) object[property.name] = *text;
    else if (const auto* const number = std::get_if<double>(&property.value)) object[property.name] = *number;
    else object[property.name] = std::get<bool>(property.value);
  return object;
}

Properties to_properties(const Napi::Value& value, const char* name) {
  if (!value.IsObject()) fail(Code::bad_argument, "%s must be an object", name);
  const Napi::Object object = value.As<Napi::Object>();
  const Napi::Array names = object.GetPropertyNames();
  Properties properties;
  for (uint32_t i = 0; i < names.Length(); i++) {
    const std::string key = Napi::Value(names[i]).ToString();
    const Napi::Value given = object.Get(key);
    if (given.IsNumber()) properties.push_back({key, given.As<Napi::Number>().DoubleValue()});
    else if (given.IsString()) properties.push_back({key, given.As<Napi::String>().Utf8Value()});
    else if (given.IsBoolean()) properties.push_back({key, given.As<Napi::Boolean>().Value()});
    else if (!given.IsUndefined()) fail(Code::bad_argument, "the option %s must be a number, a string, true or false", key.c_str());
  }
  return properties;
}

} // namespace quern
