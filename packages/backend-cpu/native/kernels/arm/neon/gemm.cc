#include "vector.h"
#include "../../simd/gemm.h"
