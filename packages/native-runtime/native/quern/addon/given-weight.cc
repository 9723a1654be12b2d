#include "quern/addon/given-weight.h"

#include "quern/failure.h"

namespace quern {

GivenBytes GivenBytes::of(const Napi::Value& value, const char* name) {
  GivenBytes given;
  if (value.IsNumber()) {
    given.id = to_id(value, name);
    return given;
  }
  if (!value.IsObject()) fail(Code::bad_argument, "%s must be the number of given bytes or a slice of a file", name);
  const Napi::Object slice = value.As<Napi::Object>();
  given.slice.path = to_text(slice.Get("path"), "path");
  given.slice.offset = to_bytes(slice.Get("offset"), "offset");
  given.slice.bytes = to_bytes(slice.Get("byteLength"), "byteLength");
  const Napi::Value mmap = slice.Get("mmap");
  given.slice.mapped = mmap.IsUndefined() || to_flag(mmap, "mmap");
  if (given.slice.path.empty()) fail(Code::bad_argument, "the path of %s is empty", name);
  return given;
}

ByteSource GivenBytes::source(const Driver& driver) const {
  if (id < 0) return slice;
  ByteSource source;
  source.memory = driver.given.find(id);
  if (!source.memory) fail(Code::bad_argument, "there are no given bytes %d", id);
  source.bytes = source.memory->bytes();
  return source;
}

WeightSource GivenWeight::source(const Driver& driver) const {
  WeightSource source = described;
  for (const GivenPart& part : parts) {
    source.parts.push_back(part.described);
    source.parts.back().bytes = part.bytes.source(driver);
  }
  return source;
}

GptqSource GivenGptq::source(const Driver& driver) const {
  GptqSource source = described;
  ByteSource* const places[] = {&source.qweight, &source.qzeros, &source.scales, &source.group_index};
  for (size_t i = 0; i < parts.size(); i++) *places[i] = parts[i].source(driver);
  return source;
}

static GivenPart to_part(const Napi::Value& value) {
  constexpr int64_t most = int64_t{1} << 53;
  if (!value.IsArray()) fail(Code::bad_argument, "a part must be an array");
  const Napi::Array part = value.As<Napi::Array>();
  GivenPart given{GivenBytes::of(part.Get(uint32_t{0}), "bytes"), {}};
  if (part.Length() == 1) return given;
  given.described.rows = to_integer(part.Get(1), "rows", 1, most);
  given.described.from = to_integer(part.Get(2), "from", 0, most);
  given.described.of = to_integer(part.Get(3), "of", 1, most);
  return given;
}

GivenWeight to_given_weight(const Napi::CallbackInfo& info) {
  GivenWeight given;
  WeightSource& weight = given.described;
  weight.name = to_text(info[0], "name");
  try {
    weight.shape = to_shape(info[1], "shape");
    weight.format = to_text(info[2], "format");
    if (!info[3].IsArray()) fail(Code::bad_argument, "parts must be an array");
    const Napi::Array parts = info[3].As<Napi::Array>();
    for (uint32_t i = 0; i < parts.Length(); i++) given.parts.push_back(to_part(parts.Get(i)));
  } catch (const Failure& failure) {
    fail(Code::bad_weight, "weight '%s': %s", weight.name.c_str(), failure.what());
  }
  return given;
}

GivenGptq to_given_gptq(const Napi::CallbackInfo& info) {
  constexpr int64_t most = int64_t{1} << 31;
  GivenGptq given;
  GptqSource& matrix = given.described;
  matrix.name = to_text(info[0], "name");
  matrix.N = to_integer(info[1], "N", 1, most);
  matrix.K = to_integer(info[2], "K", 1, most);
  matrix.bits = static_cast<int>(to_integer(info[3], "bits", 4, 8));
  matrix.group_size = to_integer(info[4], "groupSize", -1, most);
  matrix.version = static_cast<int>(to_integer(info[5], "version", 1, 2));
  if (matrix.bits % 4 || matrix.N % (32 / matrix.bits) || matrix.K % (32 / matrix.bits) || matrix.group_size == 0)
    fail(Code::bad_argument, "the sizes do not fit each other");
  if (!info[6].IsArray()) fail(Code::bad_argument, "parts must be an array");
  const Napi::Array parts = info[6].As<Napi::Array>();
  const char* const names[] = {"qweight", "qzeros", "scales", "groupIndex"};
  const uint32_t count = parts.Length();
  if (count < 3 || count > 4) fail(Code::bad_argument, "there must be 3 or 4 parts; got %u", count);
  for (uint32_t i = 0; i < count; i++) given.parts.push_back(GivenBytes::of(parts.Get(i), names[i]));
  return given;
}

} // namespace quern
