// Not std::atomic::wait: without futexes, libstdc++ 12 compares the number before it takes the lock under which it sleeps. A change and
// its wake-up between the two are lost, and the thread sleeps forever.
#include "quern/address-wait.h"

#include "quern/windows/windows.h"

namespace quern {

void wait_while_equal(std::atomic<uint32_t>& number, uint32_t value) {
  WaitOnAddress(&number, &value, sizeof value, INFINITE);
}

void wake_all(std::atomic<uint32_t>& number) { WakeByAddressAll(&number); }

} // namespace quern
