#pragma once
#include "q4_0.h"

namespace quern {

// q: indices of iq4_values.
using TileIQ4_NL = TileQ4_0;

} // namespace quern
