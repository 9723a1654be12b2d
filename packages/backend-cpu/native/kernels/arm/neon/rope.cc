#include "vector.h"
#include "../../simd/rope.h"
