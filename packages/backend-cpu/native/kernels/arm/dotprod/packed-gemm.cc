#define QUERN_ISA dotprod
#include "../neon/vector.h"
#include "../neon/bytes.h"
#include "row-dots.h"
#include "../span.h"
#include "../packed-gemm.h"
