// Sums stay in registers only if all code on them is inlined; the compiler does not always inline. The address sanitizer finds the
// same in small functions, which g++ compiles in a fraction of the time.
#pragma once

#ifdef __SANITIZE_ADDRESS__
#define QUERN_INLINE [[gnu::noinline]] inline
#define QUERN_INLINE_LAMBDA __attribute__((noinline))
#else
#define QUERN_INLINE [[gnu::always_inline]] inline
#define QUERN_INLINE_LAMBDA __attribute__((always_inline))
#endif
