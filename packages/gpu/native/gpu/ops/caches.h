// Writes to caches, for ops that end with them.
#pragma once
#include "gpu/op-call.h"
#include "kernels/kv-append.h"

namespace quern::gpu {

// Rows k and v [rows, heads, d] into the caches at `slots`; the last three are operands.
struct Append {
  const float *k, *v;
  int slots, k_cache, v_cache;
  int64_t rows, heads, d;
};
struct AppendCall {
  KvAppend args;
  const char* suffix; // of kernels for the caches' type
};
AppendCall append_call(const OpCall& op, const Append& append);
void launch_kv_append(const OpCall& op, const Append& append);
// Fails if heads have more elements than kernels take.
void need_small_heads(const OpCall& op, int64_t d);

} // namespace quern::gpu
