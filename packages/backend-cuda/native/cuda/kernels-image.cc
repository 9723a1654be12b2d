#include "cuda/kernels-image.h"

#if defined(_WIN32)
#define QUERN_CONSTANTS ".section .rdata, \"dr\"\n"
#define QUERN_BACK ".text\n" // COFF has no .previous
#else
#define QUERN_CONSTANTS ".section .rodata\n"
#define QUERN_BACK ".previous\n"
#endif

#if defined(QUERN_KERNELS_IMAGE)
asm(QUERN_CONSTANTS
    ".balign 16\n"
    "quern_kernels_image:\n"
    ".incbin \"" QUERN_KERNELS_IMAGE "\"\n"
    ".byte 0\n" QUERN_BACK);
extern "C" const unsigned char quern_kernels_image[];
const unsigned char* const quern::cuda::kernels_image = quern_kernels_image;
const bool quern::cuda::has_kernels_of_sm_90a = QUERN_KERNELS_SM_90A;
const int quern::cuda::min_driver = QUERN_KERNELS_CUDA * 1000;
#else
const unsigned char* const quern::cuda::kernels_image = nullptr;
const bool quern::cuda::has_kernels_of_sm_90a = true;
const int quern::cuda::min_driver = 12000;
#endif
