// Writes keys and values into a cache: for kvAppend and qkNormRopeAppend.
#pragma once
#include "runtime/call.h"

namespace quern {

// Throws OUT_OF_RANGE for a slot outside the cache, except −1.
void check_slots(const Call& call, const Ints& slots, const Cache& cache);

// Row t of `rows` [T, Hk · d] goes to slot slots[t], rounded to the cache's type; −1: skipped.
void append_rows(const Call& call, const float* rows, const Ints& slots, const Cache& cache);

} // namespace quern
