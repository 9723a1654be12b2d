// The threads of one block: fibres in random order, their barriers, and what is known of each access to shared memory.
#pragma once
#include <stdint.h>

#include <functional>
#include <memory>
#include <vector>

#include "emulated/fibre.h"

namespace quern::gpu {

inline constexpr int WARP = 32;

// Why a thread waits.
enum class Wait { none, barrier, warp_barrier, shuffle, instruction };

// When a thread does something, for the order of accesses: barriers of the block, and of its warp since then. Shuffles order nothing.
struct Moment {
  uint32_t block = 0, warp = 0;
};

struct Thread {
  int index = 0;
  bool ended = true;
  Wait wait = Wait::none;
  Moment now;
  float shared_value = 0; // given to a shuffle
  const void* shown = nullptr; // to the lanes of its warp
  const void* instruction = nullptr; // for which it is shown
  std::vector<std::function<void()>> copies; // asynchronous copies that have not landed, by group
  std::vector<size_t> groups;                // copies of each committed group
  std::unique_ptr<Fibre> fibre;
};

struct Grid {
  int blocks, threads;
  size_t shared_bytes; // given by the launch
  uint64_t seed;   // of the order of blocks and threads
  uint32_t launch; // another for every launch
};

class Block {
 public:
  // Runs body() once per thread.
  void run(const Grid& grid, int index, const std::function<void()>& body);

  static Block& current();
  bool runs() const { return self_; } // otherwise the host calls a kernel's function
  Thread& self() const { return *self_; }
  int index() const { return index_; }
  int count() const { return count_; }
  int grid() const { return grid_; }
  uint32_t launch() const { return launch_; }
  uint64_t id() const { return id_; } // another for every block that ever ran

  // A kernel declares an array whose bytes the launch gives.
  void need_large_array(const char* name, size_t bytes);

  void barrier() { meet(Wait::barrier); }
  void warp_barrier();
  // The value that lane `from` of this warp gives.
  float exchange(float value, int from);
  // Instructions of a whole warp: each lane shows a value, and calls use(of_lane) when all are there; of_lane(i): lane i's value.
  template <class T, class F>
  void together(const T& value, const F& use) {
    static constexpr char instruction = 0;
    self().shown = &value, self().instruction = &instruction;
    const int warp = self().index / WARP;
    need_whole(warp);
    meet(Wait::instruction);
    use([&](int lane) -> const T& { return *static_cast<const T*>(lanes(warp)[lane].shown); });
    meet(Wait::instruction); // no value ends before all have used it
  }

 private:
  void begin_threads(int count, const std::function<void()>& body);
  Thread& take_ready();
  void step(Thread& thread);
  void meet(Wait wait);
  bool release_warp(int warp);
  void release_all();
  [[noreturn]] void stuck() const;
  void need_whole(int warp) const;
  void need_same_instruction(int warp) const;
  Thread* lanes(int warp) { return &threads_[size_t(warp) * WARP]; }
  int lanes_of(int warp) const { return count_ - warp * WARP < WARP ? count_ - warp * WARP : WARP; }

  std::vector<Thread> threads_;
  std::vector<int> ready_;
  Thread* self_ = nullptr;
  int index_ = 0, count_ = 0, grid_ = 0;
  size_t shared_bytes_ = 0, declared_bytes_ = 0;
  uint32_t launch_ = 0;
  uint64_t id_ = 0, random_ = 1;
};

} // namespace quern::gpu
