// Whole pages of memory as the system gives them, zeroed: files in unix/, linux/ and darwin/; one in windows/.
#pragma once
#include <stdint.h>

#include "quern/pages.h"

namespace quern {

constexpr uint64_t huge_page = 2 << 20;

// A page: 4 KiB; 16 KiB on Apple silicon, up to 64 KiB on other Arm machines.
uint64_t page_bytes();

// Memory at a multiple of a page. Null if the system refuses.
uint8_t* map_pages(uint64_t bytes, Filled filled);
// As map_pages, at a multiple of a huge page and without memory: `commit_pages` gives it to a part.
uint8_t* reserve_pages(uint64_t bytes);
// `bytes`: those of map_pages or reserve_pages.
void unmap_pages(uint8_t* data, uint64_t bytes);

// Parts of reserved pages, multiples of a page. Memory is taken when it is written. False if the system refuses.
bool commit_pages(uint8_t* data, uint64_t bytes);
void decommit_pages(uint8_t* data, uint64_t bytes);

} // namespace quern
