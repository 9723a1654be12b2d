#define QUERN_SEARCH avx2
#include "search-body.h"
