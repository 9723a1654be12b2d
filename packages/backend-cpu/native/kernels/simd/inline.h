// Sums stay in registers only if all code on them is inlined; the compiler does not always inline.
#pragma once

#define QUERN_INLINE [[gnu::always_inline]] inline
#define QUERN_INLINE_LAMBDA __attribute__((always_inline))
