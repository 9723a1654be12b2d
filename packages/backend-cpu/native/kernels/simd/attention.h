// Attention over a paged cache: running softmax over blocks of ATTEND_KEYS keys (Milakov & Gimelshein 2018, algorithm 3).
// Keys and values are read once for several queries; only load() converts cache elements to floats.
#pragma once
#include "attention/queries.h"
#include "attention/keys.h"
#include "attention/weights.h"
#include "attention/sums.h"
#include "attention/many.h"
#include "attention/few.h"

namespace quern::QUERN_ISA {

void attend_many(const Attend& args) { attend_many_with<FloatValues>(args); }

void attend_few(const Attend& args) {
  switch (args.type) {
    case CACHE_F16: return attend_few_to<uint16_t>(args);
    case CACHE_BF16: return attend_few_to<Bf16>(args);
    case CACHE_I8: return attend_few_to<int8_t>(args);
    default: return attend_few_to<float>(args);
  }
}

void merge_parts(const float* parts, int64_t stride, int64_t count, float* y, int64_t d) {
  float top = -INF, total = 0;
  for (int64_t p = 0; p < count; p++) top = parts[p * stride + d] > top ? parts[p * stride + d] : top;
  const float base = top == -INF ? 0 : top;
  for (int64_t p = 0; p < count; p++) {
    const float* part = parts + p * stride;
    const Floats weight = exp(set(part[d] - base));
    total += largest(weight) * part[d + 1];
    each(d, [&](int64_t i, auto... n) {
      const Floats before = p == 0 ? set(0) : load(y + i, n...);
      store(y + i, fma(weight, load(part + i, n...), before), n...);
    });
  }
  scale(y, 1 / total, y, d);
}

} // namespace quern::QUERN_ISA
