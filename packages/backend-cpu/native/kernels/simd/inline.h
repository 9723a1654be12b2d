// Sums stay in registers only where everything that touches them is inlined, which the compiler would not always do.
#pragma once

#define QUERN_INLINE [[gnu::always_inline]] inline
#define QUERN_INLINE_LAMBDA __attribute__((always_inline))
