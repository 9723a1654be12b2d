#include "quern/system-pages.h"

#include <sys/mman.h>
#include <unistd.h>

namespace quern {

static uint8_t* map(uint64_t bytes, int flags) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

// A mapping at a multiple of a huge page; null if the system refuses.
static uint8_t* map_aligned(uint64_t bytes, int flags) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t length = (bytes + page - 1) / page * page;
  uint8_t* data = map(length + huge_page, flags);
  if (!data) return nullptr;
  const uint64_t before = (huge_page - reinterpret_cast<uint64_t>(data) % huge_page) % huge_page;
  if (before > 0) munmap(data, before);
  munmap(data + before + length, huge_page - before);
  return data + before;
}

// Hints: an error changes nothing.
static void advise([[maybe_unused]] uint8_t* data, [[maybe_unused]] uint64_t bytes, [[maybe_unused]] Filled filled) {
#if defined(MADV_HUGEPAGE)
  madvise(data, bytes, MADV_HUGEPAGE); // fewer TLB misses on large matrices and long caches
  if (filled == Filled::from_the_start) madvise(data, huge_page, MADV_NOHUGEPAGE);
#endif
}

uint8_t* map_pages(uint64_t bytes, Filled filled) {
  if (bytes < huge_page) return map(bytes, 0);
  uint8_t* const data = map_aligned(bytes, 0);
  if (data) advise(data, bytes, filled);
  return data;
}

uint8_t* reserve_pages(uint64_t bytes) {
  uint8_t* const data = map_aligned(bytes, MAP_NORESERVE);
  if (data) advise(data, bytes, Filled::at_once);
  return data;
}

void unmap_pages(uint8_t* data, uint64_t bytes) { munmap(data, bytes); }

bool commit_pages(uint8_t*, uint64_t) { return true; }

void decommit_pages([[maybe_unused]] uint8_t* data, [[maybe_unused]] uint64_t bytes) {
#if defined(MADV_DONTNEED)
  madvise(data, bytes, MADV_DONTNEED);
#endif
}

} // namespace quern
