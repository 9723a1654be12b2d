// Writes to caches, for ops that end with them.
#pragma once
#include "gpu/op-call.h"

namespace quern::gpu {

// Rows k and v [rows, heads, d] into the caches at `slots`; the last three are operands.
struct Append {
  const float *k, *v;
  int slots, k_cache, v_cache;
  int64_t rows, heads, d;
};
void launch_kv_append(const OpCall& op, const Append& append);

} // namespace quern::gpu
