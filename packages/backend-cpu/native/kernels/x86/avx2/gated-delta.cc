#include "vector.h"
#include "../../simd/gated-delta.h"
