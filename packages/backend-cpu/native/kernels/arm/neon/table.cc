#include "vector.h"
#include "../../table.h"

namespace quern {

const Kernels& neon_kernels() { return neon::table; }

} // namespace quern
