#include "quern/address-wait.h"

namespace quern {

void wait_while_equal(std::atomic<uint32_t>& number, uint32_t value) { number.wait(value); }

void wake_all(std::atomic<uint32_t>& number) { number.notify_all(); }

} // namespace quern
