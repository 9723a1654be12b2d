#include "cuda/cuda-gpu.h"

#if defined(QUERN_KERNELS_IMAGE)
asm(".section .rodata\n"
    ".balign 16\n"
    "quern_kernels_image:\n"
    ".incbin \"" QUERN_KERNELS_IMAGE "\"\n"
    ".byte 0\n"
    ".previous\n");
extern "C" const unsigned char quern_kernels_image[];
const unsigned char* const quern::cuda::kernels_image = quern_kernels_image;
#else
const unsigned char* const quern::cuda::kernels_image = nullptr;
#endif
