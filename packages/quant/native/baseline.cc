#define QUERN_SEARCH baseline
#include "search-body.h"
