// Never run: compiled against Apple's headers alone.
#include "quern/unix/page-advice.h"

#include <sys/mman.h>

#include "quern/system-pages.h"

namespace quern {

// Programs cannot ask for larger pages on Apple silicon.
void advise_huge_pages(uint8_t*, uint64_t, Filled) {}

// MADV_DONTNEED keeps the contents here: a new mapping in the place of the pages frees them, and is zero.
void decommit_pages(uint8_t* data, uint64_t bytes) {
  mmap(data, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

} // namespace quern
