// Every kernel of GPUs of Apple.
#pragma once
#define STAGED_ROWS 1 // two take 36 KiB of shared memory, a block has 32
#include "shared.h"
#include "metal/attention-tiles.h"
#include "metal/linear-tiles.h"
