// What this device computes at a precision.
#pragma once
#include "kernels/kernels.h"
#include "quern/precision.h"

namespace quern {

// fast: many rows of x are multiplied with weights rounded to int8 or bf16; attention to many rows rounds values to bf16.
// standard: x is rounded to int8, a scale per 32 values, where weights are quantised; nothing else is rounded: a product
// gives the same bits for any number of rows. Exception: forms of many rows that are nearer to the product of floats
// (Kernels::packed_bf16_rows, split_rows, attend_many_split). batchInvariant products (encoders) round as `fast`.
// exact: products of floats; weights are decoded.
//
// The kernels without those that round more than `precision` allows.
Kernels at_precision(Kernels kernels, Precision precision);

} // namespace quern
