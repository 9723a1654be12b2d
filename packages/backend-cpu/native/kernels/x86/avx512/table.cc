#include "vector.h"
#include "../../table.h"

namespace quern {

const Kernels& avx512_kernels() { return avx512::table; }

} // namespace quern
