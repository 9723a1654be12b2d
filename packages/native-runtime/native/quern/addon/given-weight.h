// Weights as JavaScript describes them. Wrong description: to_given_weight throws BAD_WEIGHT, to_given_gptq
// BAD_ARGUMENT.
#pragma once
#include <napi.h>

#include <vector>

#include "quern/addon/arguments.h"
#include "quern/driver.h"

namespace quern {

// A slice of a file, or the id of bytes that JavaScript gave. The id is looked up after all arguments are read.
struct GivenBytes {
  ByteSource slice;
  int32_t id = -1;

  static GivenBytes of(const Napi::Value& value, const char* name);
  // Throws BAD_ARGUMENT for an unknown id.
  ByteSource source(const Driver& driver) const;
};

struct GivenPart {
  GivenBytes bytes;
  WeightPart described; // without the bytes
};

struct GivenWeight {
  WeightSource described; // without the parts
  std::vector<GivenPart> parts;

  WeightSource source(const Driver& driver) const;
};

struct GivenGptq {
  GptqSource described;
  std::vector<GivenBytes> parts; // qweight, qzeros, scales, optional groupIndex

  GptqSource source(const Driver& driver) const;
};

// (name, shape, format, parts); a part is [bytes], or [bytes, rows, from, of].
GivenWeight to_given_weight(const Napi::CallbackInfo& info);
GivenGptq to_given_gptq(const Napi::CallbackInfo& info);

} // namespace quern
