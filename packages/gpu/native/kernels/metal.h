// Every kernel of GPUs of Apple.
#pragma once
#include "shared.h"
#include "metal/attention-tiles.h"
#include "metal/linear-tiles.h"
