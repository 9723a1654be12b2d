#include "vector.h"
#include "../../simd/rms-norm.h"
