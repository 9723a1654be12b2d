// The kernels as the driver loads them.
#pragma once

namespace quern::cuda {

extern const unsigned char* const kernels_image;  // a fat binary; null if the addon was built without nvcc
extern const bool has_kernels_of_sm_90a;          // others have traps in their place; true without nvcc, for the emulated device
extern const int min_driver;                    // the first version of a driver that loads them: 1000 · major

}  // namespace quern::cuda
