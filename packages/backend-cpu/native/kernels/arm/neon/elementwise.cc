#include "vector.h"
#include "../../simd/elementwise.h"
