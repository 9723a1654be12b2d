// The vocabulary in which kernels are written once (README.md). The including code chooses the device.
#pragma once
#if defined(__CUDACC__)
#include "cuda.h"
#elif defined(QUERN_METAL_RULES)
#include "metal.h"
#elif defined(QUERN_KERNEL_ARGUMENTS)
#include "arguments.h"
#else
#include "host.h"
#endif
