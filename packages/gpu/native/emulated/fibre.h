// A function with a stack of its own, which runs until it pauses. One operating-system thread runs all fibres of a block.
#pragma once
#include <stddef.h>

#include <exception>
#include <functional>

namespace quern::gpu {

class Fibre {
 public:
  static constexpr size_t stack_bytes = 192 * 1024;

  Fibre();
  ~Fibre();
  Fibre(const Fibre&) = delete;

  // The next resume() begins `body`. The stack is used again.
  void begin(std::function<void()> body);
  // Runs until pause() or the end of the body; rethrows an exception of the body. Returns whether the body has ended.
  bool resume();
  // Called by the body.
  void pause();

 private:
  static void enter(Fibre* self);
  void run();

  void* stack_;
  size_t bytes_; // of it that this fibre uses
  void *inside_ = nullptr, *outside_ = nullptr; // stack pointers where each side waits
  std::function<void()> body_;
  std::exception_ptr thrown_;
  bool ended_ = true;
#if defined(__SANITIZE_ADDRESS__)
  const void* outer_stack_ = nullptr;
  size_t outer_bytes_ = 0;
#endif
};

} // namespace quern::gpu
