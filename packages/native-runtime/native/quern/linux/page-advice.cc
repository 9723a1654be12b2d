#include "quern/unix/page-advice.h"

#include <sys/mman.h>

#include "quern/system-pages.h"

namespace quern {

void advise_huge_pages(uint8_t* data, uint64_t bytes, Filled filled) {
  madvise(data, bytes, MADV_HUGEPAGE); // fewer TLB misses on large matrices and long caches
  if (filled == Filled::from_the_start) madvise(data, huge_page, MADV_NOHUGEPAGE);
}

void decommit_pages(uint8_t* data, uint64_t bytes) { madvise(data, bytes, MADV_DONTNEED); }

} // namespace quern
