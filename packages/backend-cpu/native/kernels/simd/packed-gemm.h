// packed_gemm of instruction sets with one loop for any number of rows of x.
#pragma once
#include "few-rows.h"

namespace quern::QUERN_ISA {
namespace {

template <class F>
inline void packed_gemm(const PackedGemm& g) { few_rows<F>(g); }

} // namespace
} // namespace quern::QUERN_ISA

#include "each-packed-format.h"
