// Codes for flag(): those of FaultCode.
#pragma once

namespace quern {
namespace gpu {

CONSTANT int OUT_OF_RANGE = 1;

} // namespace gpu
} // namespace quern
