#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "dots.h"
#include "many-rows.h"

namespace quern::vnni {
namespace {

template <class F>
inline void packed_gemm(const PackedGemm& g) { g.T < MANY_ROWS ? few_rows<F>(g) : many_rows<F>(g); }

} // namespace
} // namespace quern::vnni

#include "../../simd/each-packed-format.h"
