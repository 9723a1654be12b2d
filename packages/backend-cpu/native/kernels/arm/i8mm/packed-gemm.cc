#define QUERN_ISA i8mm
#include "../neon/vector.h"
#include "../neon/bytes.h"
#include "span.h"
#include "../packed-gemm.h"
