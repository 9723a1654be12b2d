#include "scalar.h"
#include "../table.h"

namespace quern {

const Kernels& scalar_kernels() { return scalar::table; }

} // namespace quern
