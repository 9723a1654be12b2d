// The kernels, for launches by name.
#include "kernels/all.h"
