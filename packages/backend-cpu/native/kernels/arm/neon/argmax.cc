#include "vector.h"
#include "../../simd/argmax.h"
