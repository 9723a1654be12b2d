#include "vector.h"
#include "bytes.h"
#include "dots.h"
#include "../../simd/packed-gemm.h"
