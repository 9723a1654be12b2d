// Every kernel of Apple's GPUs.
#pragma once
#include "shared.h"
