#include "quern/fault-guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace quern {

// The signal handler walks this list without a lock. The list only grows: freed ranges are used again.
struct GuardedRange {
  std::atomic<uintptr_t> start{0}, end{0}; // end 0: free
  std::atomic<bool> lost{false};
  GuardedRange* next = nullptr;
};

namespace {

std::atomic<GuardedRange*> ranges{nullptr};
std::atomic<bool> some_lost{false};
std::mutex mutex; // held to add or remove a range
struct sigaction before; // the SIGBUS action before ours
uintptr_t page_bytes;

GuardedRange* range_of(uintptr_t address) {
  for (GuardedRange* range = ranges.load(); range; range = range->next)
    if (address >= range->start.load() && address < range->end.load()) return range;
  return nullptr;
}

// Runs in a signal handler: loads, stores and system calls only.
bool replace_by_zeros(GuardedRange& range, uintptr_t address) {
  const uintptr_t page = address / page_bytes * page_bytes, end = (range.end.load() + page_bytes - 1) / page_bytes * page_bytes;
  range.lost = true;
  some_lost = true;
  void* const from = reinterpret_cast<void*>(page);
  return mmap(from, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == from;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  if (before.sa_handler == SIG_IGN && info->si_code <= 0) return; // sent by a process, not a fault
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  if (info->si_code <= 0) raise(signal); // a fault repeats by itself
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  GuardedRange* const range = info->si_code > 0 ? range_of(address) : nullptr;
  if (!range || !replace_by_zeros(*range, address)) pass_on(signal, info, context);
  errno = saved;
}

void install_handler() {
  page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  struct sigaction ours = {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, &before);
}

GuardedRange* free_range() {
  for (GuardedRange* range = ranges.load(); range; range = range->next)
    if (range->end.load() == 0) return range;
  auto* const range = new GuardedRange;
  range->next = ranges.load();
  ranges = range;
  return range;
}

} // namespace

FaultGuard::FaultGuard(const uint8_t* data, uint64_t bytes) {
  static std::once_flag installed;
  std::call_once(installed, install_handler);
  const std::lock_guard lock(mutex);
  range_ = free_range();
  range_->lost = false;
  range_->start = reinterpret_cast<uintptr_t>(data);
  range_->end = reinterpret_cast<uintptr_t>(data) + bytes;
}

FaultGuard::~FaultGuard() {
  const std::lock_guard lock(mutex);
  range_->end = 0;
}

bool FaultGuard::lost() const { return range_->lost; }

bool FaultGuard::any_lost() { return some_lost; }

} // namespace quern
