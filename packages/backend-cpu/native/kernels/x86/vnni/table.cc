#include "table.h"

namespace quern {

const Kernels& vnni_kernels() { return vnni::table; }

} // namespace quern
