// All elementwise kernels: short, so an instruction set compiles them as one file.
#include "add.h"
#include "geglu.h"
#include "gelu.h"
#include "mul.h"
#include "scale.h"
#include "silu.h"
#include "swiglu.h"
#include "tanh.h"
