#include "vector.h"
#include "../../simd/l2-normalise.h"
