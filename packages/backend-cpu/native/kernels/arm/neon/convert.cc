#include "vector.h"
#include "../../simd/convert.h"
