#include "vector.h"
#include "../../simd/short-conv.h"
