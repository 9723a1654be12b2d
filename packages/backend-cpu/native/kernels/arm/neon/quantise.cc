#include "vector.h"
#include "bytes.h"
#include "../../simd/quantise.h"
