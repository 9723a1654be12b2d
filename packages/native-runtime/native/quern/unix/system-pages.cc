#include "quern/system-pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "quern/unix/page-advice.h"

namespace quern {

static uint8_t* map(uint64_t bytes, int flags) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

uint64_t page_bytes() {
  static const auto size = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// A mapping `offset` bytes, whole pages, behind a multiple of a huge page; null if the system refuses.
static uint8_t* map_aligned(uint64_t bytes, int flags, uint64_t offset) {
  const uint64_t length = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  uint8_t* data = map(length + huge_page, flags);
  if (!data) return nullptr;
  const uint64_t before = (offset - reinterpret_cast<uint64_t>(data)) % huge_page;
  if (before > 0) munmap(data, before);
  munmap(data + before + length, huge_page - before);
  return data + before;
}

// An offset from a huge page: in any run of buffers evenly spread, and another one for each of 64.
static uint64_t next_offset() {
  static std::atomic<uint64_t> buffers{0};
  const uint64_t step = std::max(huge_page / 64, page_bytes());
  return 39 * buffers.fetch_add(1, std::memory_order_relaxed) * step % huge_page; // 39 / 64: near the golden section
}

uint8_t* map_pages(uint64_t bytes, Filled filled) {
  if (bytes < huge_page) return map(bytes, 0);
  uint8_t* const data = map_aligned(bytes, 0, filled == Filled::from_the_start ? next_offset() : 0);
  if (data) advise_huge_pages(data, bytes, filled);
  return data;
}

uint8_t* reserve_pages(uint64_t bytes) {
  uint8_t* const data = map_aligned(bytes, MAP_NORESERVE, 0);
  if (data) advise_huge_pages(data, bytes, Filled::at_once);
  return data;
}

void unmap_pages(uint8_t* data, uint64_t bytes) { munmap(data, bytes); }

bool commit_pages(uint8_t*, uint64_t) { return true; }

} // namespace quern
