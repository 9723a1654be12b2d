// Weights as JavaScript describes them. Whatever is wrong with a description is wrong with the weight.
#pragma once
#include <napi.h>

#include <vector>

#include "quern/addon/arguments.h"
#include "runtime/backend.h"
#include "quern/weight-source.h"

namespace quern {

// A slice of a file, or the number of a buffer, which is looked for when all arguments have been read.
struct GivenBytes {
  ByteSource slice;
  int32_t buffer = -1;

  static GivenBytes of(const Napi::Value& value, const char* name);
  // Throws BAD_ARGUMENT where there is no such buffer.
  ByteSource source(const Backend& backend) const;
};

struct GivenPart {
  GivenBytes bytes;
  WeightPart described; // but for the bytes
};

struct GivenWeight {
  WeightSource described; // but for the parts
  std::vector<GivenPart> parts;

  WeightSource source(const Backend& backend) const;
};

struct GivenGptq {
  GptqSource described;
  std::vector<GivenBytes> parts; // qweight, qzeros, scales, and perhaps groupIndex

  GptqSource source(const Backend& backend) const;
};

// (name, shape, format, parts); a part is [bytes], or [bytes, rows, from, of].
GivenWeight to_given_weight(const Napi::CallbackInfo& info);
GivenGptq to_given_gptq(const Napi::CallbackInfo& info);

} // namespace quern
