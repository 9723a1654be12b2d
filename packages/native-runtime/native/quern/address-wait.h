// Threads sleep until a number changes.
#pragma once
#include <stdint.h>

#include <atomic>

namespace quern {

// Returns at once if the number differs from `value`; otherwise after a call of wake_all, or earlier.
void wait_while_equal(std::atomic<uint32_t>& number, uint32_t value);

// Call after the number has changed.
void wake_all(std::atomic<uint32_t>& number);

} // namespace quern
