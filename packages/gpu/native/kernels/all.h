// Every kernel of NVIDIA's GPUs. Those of cuda/ use instructions that only these have.
#pragma once
#include "shared.h"
#include "cuda/attention-group.h"
#include "cuda/attention-tiles.h"
#include "cuda/bf16-rows.h"
#include "cuda/linear-rows.h"
#include "cuda/linear-tiles.h"
#include "cuda/norm-fragments.h"
#include "cuda/product-bf16.h"
#include "cuda/product-warpgroups.h"
