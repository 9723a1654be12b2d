#include "vector.h"
#include "../../simd/dense-gemm.h"
