#include "cuda/exact-sleeps.h"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include <thread>

namespace quern::cuda {

// Usually Linux adds up to 50 µs. 0: the usual slack.
static void allow_slack([[maybe_unused]] unsigned long nanoseconds) {
#if defined(__linux__)
  prctl(PR_SET_TIMERSLACK, nanoseconds);
#endif
}

ExactSleeps::ExactSleeps() { allow_slack(1000); }
ExactSleeps::~ExactSleeps() { allow_slack(0); }

void ExactSleeps::sleep_for(std::chrono::nanoseconds time) const { std::this_thread::sleep_for(time); }

} // namespace quern::cuda
