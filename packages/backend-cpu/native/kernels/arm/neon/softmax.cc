#include "vector.h"
#include "../../simd/softmax.h"
