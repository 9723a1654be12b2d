// Weights as JavaScript describes them. Whatever is wrong with a description is wrong with the weight.
#pragma once
#include <napi.h>

#include <vector>

#include "quern/addon/arguments.h"
#include "quern/driver.h"

namespace quern {

// A slice of a file, or the number of given bytes, which are looked for when all arguments have been read.
struct GivenBytes {
  ByteSource slice;
  int32_t id = -1;

  static GivenBytes of(const Napi::Value& value, const char* name);
  // Throws BAD_ARGUMENT where there are no such bytes.
  ByteSource source(const Driver& driver) const;
};

struct GivenPart {
  GivenBytes bytes;
  WeightPart described; // but for the bytes
};

struct GivenWeight {
  WeightSource described; // but for the parts
  std::vector<GivenPart> parts;

  WeightSource source(const Driver& driver) const;
};

struct GivenGptq {
  GptqSource described;
  std::vector<GivenBytes> parts; // qweight, qzeros, scales, and perhaps groupIndex

  GptqSource source(const Driver& driver) const;
};

// (name, shape, format, parts); a part is [bytes], or [bytes, rows, from, of].
GivenWeight to_given_weight(const Napi::CallbackInfo& info);
GivenGptq to_given_gptq(const Napi::CallbackInfo& info);

} // namespace quern
