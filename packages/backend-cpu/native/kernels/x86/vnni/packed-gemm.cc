#define QUERN_ISA vnni
#include "../avx512/vector.h"
#include "../avx512/bytes.h"
#include "dots.h"
#include "../../simd/packed-gemm.h"
