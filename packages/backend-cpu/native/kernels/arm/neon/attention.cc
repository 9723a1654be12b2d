#include "vector.h"
#include "../../simd/attention.h"
