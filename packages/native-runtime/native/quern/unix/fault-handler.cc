#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "quern/guarded-range.h"

namespace quern {

static struct sigaction before; // the SIGBUS action before ours
static uintptr_t fault_page;

// Runs in a signal handler: loads, stores and system calls only.
static bool replace_by_zeros(GuardedRange& range, uintptr_t address) {
  const uintptr_t page = address / fault_page * fault_page, end = (range.end.load() + fault_page - 1) / fault_page * fault_page;
  mark_lost(range);
  void* const from = reinterpret_cast<void*>(page);
  return mmap(from, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == from;
}

static void pass_on(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return; // sent by a process, not a fault
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  if (info->si_code <= 0) raise(signal); // a fault repeats by itself
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  GuardedRange* const range = info->si_code > 0 ? guarded_range(address) : nullptr;
  if (!range || !replace_by_zeros(*range, address)) pass_on(signal, info, context);
  errno = saved;
}

void install_fault_handler() {
  fault_page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, &before);
}

} // namespace quern
