// Not std::atomic::wait: a libc++ that is built without Apple's private calls polls between short sleeps, also in idle threads.
#include "quern/address-wait.h"

#include <mutex>

#include "quern/condition.h"

namespace quern {

namespace {

struct Place {
  std::mutex mutex;
  Condition changed;
};

// Never destroyed: threads may wait while the process ends.
Place& place_of(const void* address) {
  constexpr uintptr_t count = 16, cache_line = 64;
  static auto* const places = new Place[count];
  return places[reinterpret_cast<uintptr_t>(address) / cache_line % count];
}

} // namespace

void wait_while_equal(std::atomic<uint32_t>& number, uint32_t value) {
  Place& place = place_of(&number);
  std::unique_lock lock(place.mutex);
  place.changed.wait(lock, [&] { return number.load() != value; });
}

// A thread that has compared the number already sleeps once the lock is free.
void wake_all(std::atomic<uint32_t>& number) {
  Place& place = place_of(&number);
  place.mutex.lock();
  place.mutex.unlock();
  place.changed.wake_all();
}

} // namespace quern
