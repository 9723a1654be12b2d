// Blocks to f32. Block layouts and order of operations are those of ggml (ggml-common.h, dequantize_row_* in ggml-quants.c)
// and of @quern/quant in TypeScript: equal to the last bit. decode/ has one file per format.
#include "../generated/scalar-decode.h"
