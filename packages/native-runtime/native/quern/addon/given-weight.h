// Weights as JavaScript describes them. Whatever is wrong with a description is wrong with the weight.
#pragma once
#include <napi.h>

#include <vector>

#include "quern/addon/arguments.h"
#include "runtime/backend.h"

namespace quern {

// A slice of a file, or the number of a buffer, which is looked for when all arguments have been read.
struct GivenBytes {
  ByteSource slice;
  int32_t buffer = -1;

  static GivenBytes of(const Napi::Value& value, const char* name);
  // Throws BAD_ARGUMENT where there is no such buffer.
  ByteSource source(const Backend& backend) const;
};

struct GivenWeight {
  WeightSource described; // but for the bytes
  GivenBytes bytes;

  WeightSource source(const Backend& backend) const;
};

struct GivenGptq {
  GptqSource described;
  std::vector<GivenBytes> parts; // qweight, qzeros, scales, and perhaps groupIndex

  GptqSource source(const Backend& backend) const;
};

// (name, shape, format, bytes), by argument(index).
template <class Arguments>
GivenWeight to_given_weight(const Arguments& argument) {
  GivenWeight given;
  WeightSource& weight = given.described;
  weight.name = to_text(argument(0), "name");
  try {
    weight.shape = to_shape(argument(1), "shape");
    weight.format = to_text(argument(2), "format");
    given.bytes = GivenBytes::of(argument(3), "bytes");
  } catch (const Failure& failure) {
    fail(Code::bad_weight, "weight '%s': %s", weight.name.c_str(), failure.what());
  }
  return given;
}

GivenGptq to_given_gptq(const Napi::CallbackInfo& info);

} // namespace quern
