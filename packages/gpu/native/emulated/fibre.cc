#include "emulated/fibre.h"

#include <stdint.h>
#include <sys/mman.h>

#include <atomic>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

// Saves the callee-saved registers on this stack, its pointer in *save, and goes on where `load` waits.
extern "C" void quern_switch_stack(void** save, void* load);
// The first place where a new stack "waits": calls the function of the second saved register with the first.
extern "C" void quern_enter_stack();

#if defined(__x86_64__)
asm(R"(
.text
.globl quern_switch_stack
.type quern_switch_stack, @function
quern_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size quern_switch_stack, . - quern_switch_stack
.globl quern_enter_stack
.type quern_enter_stack, @function
quern_enter_stack:
  movq %r12, %rdi
  call *%r13
  ud2
.size quern_enter_stack, . - quern_enter_stack
)");

static void* first_frame(void* top, void* argument, void* function) {
  auto* frame = reinterpret_cast<void**>(top) - 9; // r15 r14 r13 r12 rbx rbp, return address; the stack is then aligned
  frame[2] = function, frame[3] = argument;
  frame[6] = reinterpret_cast<void*>(&quern_enter_stack);
  return frame;
}
#elif defined(__aarch64__)
asm(R"(
.text
.globl quern_switch_stack
.type quern_switch_stack, %function
quern_switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
.size quern_switch_stack, . - quern_switch_stack
.globl quern_enter_stack
.type quern_enter_stack, %function
quern_enter_stack:
  mov x0, x19
  blr x20
  brk #0
.size quern_enter_stack, . - quern_enter_stack
)");

static void* first_frame(void* top, void* argument, void* function) {
  auto* frame = reinterpret_cast<void**>(top) - 20;
  frame[0] = argument, frame[1] = function;
  frame[11] = reinterpret_cast<void*>(&quern_enter_stack);
  return frame;
}
#else
#error "the emulated device runs on x86-64 and 64-bit Arm"
#endif

namespace quern::gpu {

// Stacks end at different places of their pages: otherwise all fibres of a block share a few lines of the caches.
static size_t used_bytes() {
  static std::atomic<size_t> fibres{0};
  return Fibre::stack_bytes - fibres++ % 60 * 1088;
}

Fibre::Fibre() : bytes_(used_bytes()) {
  stack_ = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack_ == MAP_FAILED) throw std::bad_alloc();
}

Fibre::~Fibre() {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, stack_bytes); // these addresses may become another's memory
#endif
  munmap(stack_, stack_bytes);
}

void Fibre::begin(std::function<void()> body) {
  body_ = std::move(body);
  thrown_ = nullptr;
  ended_ = false;
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(stack_, stack_bytes); // frames of a body that was left in its middle
#endif
  inside_ = first_frame(static_cast<uint8_t*>(stack_) + bytes_, this, reinterpret_cast<void*>(&Fibre::enter));
}

void Fibre::enter(Fibre* self) { self->run(); }

void Fibre::run() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &outer_stack_, &outer_bytes_);
#endif
  try {
    body_();
  } catch (...) {
    thrown_ = std::current_exception();
  }
  body_ = nullptr;
  ended_ = true;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(nullptr, outer_stack_, outer_bytes_);
#endif
  quern_switch_stack(&inside_, outside_);
}

bool Fibre::resume() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake;
  __sanitizer_start_switch_fiber(&fake, stack_, stack_bytes);
#endif
  quern_switch_stack(&outside_, inside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#endif
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return ended_;
}

void Fibre::pause() {
#if defined(__SANITIZE_ADDRESS__)
  void* fake;
  __sanitizer_start_switch_fiber(&fake, outer_stack_, outer_bytes_);
#endif
  quern_switch_stack(&inside_, outside_);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake, &outer_stack_, &outer_bytes_);
#endif
}

} // namespace quern::gpu
