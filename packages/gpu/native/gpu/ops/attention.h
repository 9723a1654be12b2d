// Launches of attention that several kernels share.
#pragma once
#include "gpu/op-call.h"
#include "kernels/attention.h"
#include "kernels/uncached-attention.h"

namespace quern::gpu {

// Few tiles share their keys among more blocks: `blocks` of them, if a sequence has so many keys.
void split_keys(const OpCall& op, Attention& args, int64_t tiles, int64_t blocks);
// Adds the parts, in order.
void merge_parts(const OpCall& op, const Attention& args);

// Whether kernels may load eight elements of a head at once, which has at most `most`.
template <class Args>
bool takes_heads(const Args& args, int most) {
  return args.d % 8 == 0 && args.d <= most && reinterpret_cast<uintptr_t>(args.k) % 16 == 0 &&
         reinterpret_cast<uintptr_t>(args.v) % 16 == 0;
}

}  // namespace quern::gpu
