// The kernels, for launches by name.
#include "kernels/metal.h"
