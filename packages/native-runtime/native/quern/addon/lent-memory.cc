#include "quern/addon/lent-memory.h"

#include <string.h>

#include "quern/addon/arguments.h"
#include "quern/failure.h"

namespace quern {

[[noreturn]] static void fail_moved(const char* name) {
  fail(Code::bad_argument, "the memory of %s has been transferred or resized while it was to be used; capture the plan anew", name);
}

LentBuffer::LentBuffer(const Napi::Value& value, const char* name, const HostPages& own) : name_(name) {
  const auto memory = to_memory(value, name);
  buffer_ = Napi::Persistent(value.As<Napi::Object>());
  place_ = memory.data();
  bytes_ = memory.size();
  pages_ = own.find(place_);
  shown_ = pages_ && bytes_ <= pages_->bytes();
  if (!shown_) pages_ = std::make_shared<const PagesBuffer>(bytes_);
}

std::span<uint8_t> LentBuffer::in_place() const {
  const auto memory = to_memory(buffer_.Value(), name_);
  if (memory.data() != place_ || memory.size() != bytes_) fail_moved(name_);
  return memory;
}

void LentBuffer::copy_in() const {
  const auto memory = in_place();
  if (!shown_ && bytes_) memcpy(pages_->data(), memory.data(), bytes_);
}

void LentBuffer::copy_out() const {
  if (shown_ || !bytes_) return;
  memcpy(in_place().data(), pages_->data(), bytes_);
}

template <>
std::span<double> LentArray<double>::in_place() const {
  const auto elements = to_double_span(array_.Value(), name_);
  if (elements.data() != place_ || elements.size() != own_.size()) fail_moved(name_);
  return elements;
}

template <>
std::span<int32_t> LentArray<int32_t>::in_place() const {
  const auto elements = to_word_span(array_.Value(), name_);
  if (elements.data() != place_ || elements.size() != own_.size()) fail_moved(name_);
  return elements;
}

template <>
std::span<uint8_t> LentArray<uint8_t>::in_place() const {
  const auto elements = to_byte_span(array_.Value(), name_);
  if (elements.data() != place_ || elements.size() != own_.size()) fail_moved(name_);
  return elements;
}

LentWords::LentWords(const Napi::Value& value, const char* name, const HostPages& own, size_t least) {
  const auto words = to_word_span(value, name);
  if (words.size() < least) fail(Code::bad_argument, "%s must have %zu elements or more; it has %zu", name, least, words.size());
  array_ = Napi::Persistent(value.As<Napi::Object>());
  words_ = words;
  napi_value buffer; // an object may define its own property `buffer`
  napi_get_typedarray_info(value.Env(), value, nullptr, nullptr, nullptr, &buffer, nullptr);
  if (!Napi::Value(value.Env(), buffer).IsArrayBuffer()) return; // a SharedArrayBuffer keeps its place while referenced
  pages_ = own.find(to_memory({value.Env(), buffer}, name).data());
  if (!pages_) fail(Code::bad_argument, "%s must lie in a SharedArrayBuffer: JavaScript could take other memory away", name);
}

} // namespace quern
