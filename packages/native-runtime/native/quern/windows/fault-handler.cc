#include "quern/guarded-range.h"
#include "quern/windows/windows.h"

namespace quern {

static std::atomic_flag replacing;

// Address space in the place of the view. Another thread that reads it meanwhile faults, and comes to commit_zeros.
static bool replace_view(GuardedRange& range) {
  void* const start = reinterpret_cast<void*>(range.start.load());
  const uintptr_t bytes = range.end.load() - range.start.load();
  mark_lost(range);
  return UnmapViewOfFile(start) && VirtualAlloc(start, bytes, MEM_RESERVE, PAGE_READONLY) == start;
}

// Zeros around the address alone: memory for a whole file of weights may be missing.
static bool commit_zeros(const GuardedRange& range, uintptr_t address) {
  constexpr uintptr_t unit = 1 << 16;
  const uintptr_t from = address / unit * unit, left = range.end.load() - from;
  return VirtualAlloc(reinterpret_cast<void*>(from), left < unit ? left : unit, MEM_COMMIT, PAGE_READONLY) != nullptr;
}

static bool replace_by_zeros(GuardedRange& range, uintptr_t address) {
  while (replacing.test_and_set(std::memory_order_acquire)) YieldProcessor();
  const bool replaced = (range.lost || replace_view(range)) && commit_zeros(range, address);
  replacing.clear(std::memory_order_release);
  return replaced;
}

// Handles an unreadable page, and reads of a lost range where it has no memory yet.
static LONG CALLBACK on_fault(EXCEPTION_POINTERS* fault) {
  const EXCEPTION_RECORD& record = *fault->ExceptionRecord;
  const bool unreadable = record.ExceptionCode == EXCEPTION_IN_PAGE_ERROR;
  if (!unreadable && record.ExceptionCode != EXCEPTION_ACCESS_VIOLATION) return EXCEPTION_CONTINUE_SEARCH;
  const bool reads = record.NumberParameters >= 2 && record.ExceptionInformation[0] == 0;
  const uintptr_t address = record.ExceptionInformation[1];
  GuardedRange* const range = reads ? guarded_range(address) : nullptr;
  if (!range || !(unreadable || range->lost)) return EXCEPTION_CONTINUE_SEARCH;
  return replace_by_zeros(*range, address) ? EXCEPTION_CONTINUE_EXECUTION : EXCEPTION_CONTINUE_SEARCH;
}

// An ending worker unloads its addons, but the handler stays: so must this library.
void install_fault_handler() {
  HMODULE self;
  constexpr DWORD stays = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
  GetModuleHandleExW(stays, reinterpret_cast<LPCWSTR>(&on_fault), &self);
  AddVectoredExceptionHandler(1, on_fault);
}

} // namespace quern
