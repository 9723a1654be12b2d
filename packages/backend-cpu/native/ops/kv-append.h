// Writes keys and values into a cache: for kvAppend and qkNormRopeAppend.
#pragma once
#include "runtime/call.h"

namespace quern {

// Throws OUT_OF_RANGE for a slot outside the cache, except −1.
void check_slots(const Call& call, const Ints& slots, const Cache& cache);

// Whether slots rise: none occurs twice, so rows may be appended in any order. −1: no slot.
bool rise(const Ints& slots);

// A row [Hk · d] goes to a slot, rounded to the cache's type; −1: skipped.
void append_row(const Kernels& kernels, const float* row, int32_t slot, const Cache& cache);

// Row t of `rows` [T, Hk · d] goes to slot slots[t].
void append_rows(const Call& call, const float* rows, const Ints& slots, const Cache& cache);

} // namespace quern
