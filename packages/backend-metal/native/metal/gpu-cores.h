// The number of a Mac's GPU cores: Metal does not tell it, the registry of devices does.
#pragma once

namespace quern::metal {

// 0: unknown.
int gpu_cores();

}  // namespace quern::metal
