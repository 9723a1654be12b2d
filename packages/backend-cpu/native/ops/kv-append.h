// Writing keys and values into a cache, shared by kvAppend and qkNormRopeAppend.
#pragma once
#include "runtime/call.h"

namespace quern {

// Throws OUT_OF_RANGE for a slot that is neither −1 nor in the cache.
void check_slots(const Call& call, const Ints& slots, const Cache& cache);

// Row t of `rows` [T, Hk · d] goes to slot slots[t] of the cache, rounded to its type; −1 skips it.
void append_rows(const Call& call, const float* rows, const Ints& slots, const Cache& cache);

} // namespace quern
