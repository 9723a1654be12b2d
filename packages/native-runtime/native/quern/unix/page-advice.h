// What systems of Unix do differently with pages: a file in linux/, one in darwin/. Also decommit_pages of system-pages.h.
#pragma once
#include <stdint.h>

#include "quern/pages.h"

namespace quern {

// A hint: an error changes nothing.
void advise_huge_pages(uint8_t* data, uint64_t bytes, Filled filled);

} // namespace quern
