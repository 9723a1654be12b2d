// Strings, arrays, errors, URLs, and what the process reports about the system.
#include "emulated/metal/classes.h"

namespace quern::gpu {

namespace {

const Methods& string_methods = *new Methods(Methods("NSString").add(metal::utf8_string, [](Object self, Selector) { return as_a<StringObject>(self).text.c_str(); }));
const Methods& array_methods = *new Methods(Methods("NSArray")
                                  .add(metal::count, [](Object self, Selector) -> metal::Natural { return as_a<ArrayObject>(self).items.size(); })
                                  .add(metal::object_at, [](Object self, Selector, metal::Natural i) -> Object {
                                    return as_a<ArrayObject>(self).items.at(i).get();
                                  }));
const Methods& error_methods = *new Methods(Methods("NSError").add(metal::localized_description, [](Object self, Selector) {
  return autoreleased(new StringObject(as_a<ErrorObject>(self).text));
}));

// A URL is its path.
const ClassDefinition string_class("NSString", *new Methods(Methods("+NSString").add(metal::string_with_utf8, [](Object, Selector, const char* text) {
  return autoreleased(new StringObject(text));
})));
const ClassDefinition url_class("NSURL", *new Methods(Methods("+NSURL").add(metal::file_url, [](Object, Selector, Object path) {
  return autoreleased(new StringObject(as_a<StringObject>(path).text));
})));
const ClassDefinition array_class("NSArray", *new Methods(Methods("+NSArray").add(metal::array_with_object, [](Object, Selector, Object item) {
  return autoreleased(new ArrayObject({Kept<Instance>(&instance_of(item))}));
})));

const Methods& process_methods = *new Methods(Methods("NSProcessInfo").add(metal::system_version, [](Object, Selector) {
  return autoreleased(new StringObject(text_setting("QUERN_EMULATED_OS", "Version 15.1 (Build 24B83)")));
}));
const ClassDefinition process_class("NSProcessInfo", *new Methods(Methods("+NSProcessInfo").add(metal::process_info, [](Object, Selector) {
  return autoreleased(new Instance(process_methods));
})));

}  // namespace

StringObject::StringObject(std::string text) : Instance(string_methods), text(std::move(text)) {}
ArrayObject::ArrayObject(std::vector<Kept<Instance>> items) : Instance(array_methods), items(std::move(items)) {}
ErrorObject::ErrorObject(std::string text) : Instance(error_methods), text(std::move(text)) {}

Object failed(Object* error, const std::string& text) {
  if (error) *error = autoreleased(new ErrorObject(text));
  return nullptr;
}

}  // namespace quern::gpu
