// Blocks to f32. Block layouts and the order of operations are those of ggml (ggml-common.h, dequantize_row_* in ggml-quants.c),
// which @quern/quant defines in TypeScript: results agree with both to the last bit. decode/ has a file per format.
#include "../generated/scalar-decode.h"
