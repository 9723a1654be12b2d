// The kernels as the driver loads them.
#pragma once

namespace quern::cuda {

extern const unsigned char* const kernels_image;  // a fat binary; null if the addon was built without nvcc
extern const int least_driver;                    // the first version of a driver that loads them: 1000 · major

}  // namespace quern::cuda
