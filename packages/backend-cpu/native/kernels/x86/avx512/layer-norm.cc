#include "vector.h"
#include "../../simd/layer-norm.h"
