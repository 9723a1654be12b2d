// The queue of a stream, and the host memory that is pinned.
#pragma once
#include <stdint.h>

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace quern::gpu {

using Command = std::function<void()>;
using Commands = std::vector<Command>;

// A command that never ends: thrown by it.
struct Hang {};

// Commands in order. They run at once, until one copies pinned memory: this one and all behind it run when somebody waits for
// them or asks for them again, as late as on hardware. Memory that is written or read too early then has the wrong bytes.
class Stream {
 public:
  std::unique_ptr<Commands> captured;  // while it is captured

  void add(Command command);
  void add_late(Command command) { waiting_.push_back(std::move(command)); }
  bool is_late() const { return !waiting_.empty(); }
  // Whether a command hangs: it and all behind it never run.
  bool hangs() const { return hangs_; }
  // Whether somebody has asked before, since the last commands were run late.
  bool is_asked_again() { return std::exchange(asked_, true); }
  // Numbers of commands: those that have run, all so far.
  uint64_t done() const { return done_; }
  uint64_t end() const { return done_ + waiting_.size(); }
  // Runs the commands before `end`, up to one that hangs. Throws Fault.
  void run(uint64_t end);

 private:
  std::deque<Command> waiting_;
  uint64_t done_ = 0;
  bool asked_ = false;
  std::atomic<bool> hangs_{false};  // other threads read it
};

// Host memory that copies reach beside the host's work.
class PinnedMemory {
 public:
  // `most`: bytes that may be pinned. Null: refused.
  void* allocate(uint64_t bytes, uint64_t most);
  bool free(void* data);
  bool holds(const void* address) const;

 private:
  std::map<const uint8_t*, uint64_t> blocks_;  // bytes by start
  uint64_t used_ = 0;
};

}  // namespace quern::gpu
