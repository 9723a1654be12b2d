#include "vector.h"
#include "../../table.h"

namespace quern {

const Kernels& avx2_kernels() { return avx2::table; }

} // namespace quern
