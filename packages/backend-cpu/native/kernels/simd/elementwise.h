// The kernels that treat every element alike: short enough for one file of an instruction set to compile them all.
#include "add.h"
#include "geglu.h"
#include "gelu.h"
#include "mul.h"
#include "scale.h"
#include "silu.h"
#include "swiglu.h"
#include "tanh.h"
