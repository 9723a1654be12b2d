#include "vector.h"
#include "bytes.h"
#include "dots.h"
#include "many-rows.h"

namespace quern::avx2 {
namespace {

// Signed weights (MAX 0) need their signs beside the bytes: few_rows.
template <class F>
inline void packed_gemm(const PackedGemm& g) {
  if constexpr (F::MAX == 0) few_rows<F>(g);
  else g.T < MANY_ROWS ? few_rows<F>(g) : many_rows<F>(g);
}

} // namespace
} // namespace quern::avx2

#include "../../simd/each-packed-format.h"
