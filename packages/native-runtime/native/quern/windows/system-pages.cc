// No large pages: they need the right to lock pages in memory, which few accounts have, and are never paged out.
#include "quern/system-pages.h"

#include "quern/windows/windows.h"

namespace quern {

static uint8_t* allocate(void* at, uint64_t bytes, DWORD act) {
  return static_cast<uint8_t*>(VirtualAlloc(at, bytes, act, PAGE_READWRITE));
}

uint64_t page_bytes() {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwPageSize;
}

// Committed: the system counts them against RAM and paging files, and takes RAM when they are written.
uint8_t* map_pages(uint64_t bytes, Filled) { return allocate(nullptr, bytes, MEM_RESERVE | MEM_COMMIT); }

// At a multiple of 64 KiB.
uint8_t* reserve_pages(uint64_t bytes) { return allocate(nullptr, bytes, MEM_RESERVE); }

void unmap_pages(uint8_t* data, uint64_t) { VirtualFree(data, 0, MEM_RELEASE); }

bool commit_pages(uint8_t* data, uint64_t bytes) { return allocate(data, bytes, MEM_COMMIT) != nullptr; }

void decommit_pages(uint8_t* data, uint64_t bytes) { VirtualFree(data, bytes, MEM_DECOMMIT); }

} // namespace quern
