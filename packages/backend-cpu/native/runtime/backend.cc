#include "runtime/backend.h"

#include "runtime/dispatch.h"
#include "quern/failure.h"
#include "quern/machine.h"

namespace quern {

static int choose_threads(int threads) {
  constexpr int most = 512;
  if (threads < 0 || threads > most) fail(Code::bad_argument, "threads must be from 1 to %d; got %d", most, threads);
  return threads ? threads : std::min(most, default_threads());
}

Backend::Backend(int threads, const std::string& isa)
    : kernels(choose_kernels(isa)), pool(choose_threads(threads)), executor(kernels, pool) {}

} // namespace quern
