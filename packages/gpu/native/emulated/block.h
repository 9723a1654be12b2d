// The threads of one block: fibres in random order, their barriers, and what is known of each access to shared memory.
#pragma once
#include <stdint.h>

#include <functional>
#include <memory>
#include <vector>

#include "emulated/beside.h"
#include "emulated/block-thread.h"

namespace quern::gpu {

struct Grid {
  int blocks, threads;
  size_t shared_bytes; // given by the launch
  uint64_t seed;   // of the order of blocks and threads
  uint32_t launch; // another for every launch
  uint32_t running; // the first launch that may not be done yet; `launch` if all before are
};

class Block {
 public:
  // Runs body() once per thread.
  void run(const Grid& grid, int index, const std::function<void()>& body);

  static Block& current() { return current_ ? *current_ : make_current(); }
  bool runs() const { return self_; } // otherwise the host calls a kernel's function
  Thread& self() const { return *self_; }
  int index() const { return index_; }
  int count() const { return count_; }
  int grid() const { return grid_; }
  uint32_t launch() const { return launch_; }
  uint32_t running() const { return running_; }
  uint64_t id() const { return id_; } // another for every block that ever ran

  // A kernel declares a shared array: all of them have `most_shared_bytes` at most.
  void need_shared_array(const char* name, size_t bytes);
  static inline size_t most_shared_bytes = 48 << 10; // of CUDA, without those that the launch gives
  // A kernel declares an array whose bytes the launch gives.
  void need_large_array(const char* name, size_t bytes);

  // Shared memory whose bytes the launch gives: its bytes, and what is known of each element.
  struct LargeArray {
    const char* name;
    uint8_t* bytes;
    Element* elements;
    size_t element_bytes, size;
  };
  void set_large_array(const LargeArray& array) { large_ = array; }
  const LargeArray& large_array() const { return large_; }
  // Its first byte is at `origin`, as on hardware, where the system has the first KiB.
  static constexpr unsigned origin = 1024;
  unsigned shared_address(const void* at) const;
  // The byte at an address, if `bytes` from there on are in the array. Its element, of 16 bytes.
  uint8_t* shared_bytes(unsigned address, unsigned bytes, const char* act) const;
  Element& shared_element(unsigned address, const char* act) const;

  Beside& beside() { return beside_; }
  Thread& thread(int index) { return threads_[size_t(index)]; }
  // All threads of a warpgroup are here, at the same instruction; the last one to come does `last`.
  void meet_warpgroup(const void* instruction, const std::function<void()>& last);
  // Until `wake` of this barrier.
  void sleep(unsigned barrier, int parity);
  void wake(unsigned barrier);

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
  static Block& make_current();
  void begin_threads(int count, const std::function<void()>& body);
  Thread& take_ready();
  void step(Thread& thread);
  void meet(Wait wait);
  void release_warp(int warp);
  void release_warpgroup(int first);
  void release_all();
  [[noreturn]] void stuck() const;
  void need_whole(int warp) const;
  void need_same_instruction(int warp) const;
  Thread* lanes(int warp) { return &threads_[size_t(warp) * WARP]; }
  int lanes_of(int warp) const { return count_ - warp * WARP < WARP ? count_ - warp * WARP : WARP; }

  static inline constinit thread_local Block* current_ = nullptr;

  std::vector<Thread> threads_;
  std::vector<int> ready_;
  std::vector<int> waiting_; // lanes of each warp that wait for it
  Thread* self_ = nullptr;
  int index_ = 0, count_ = 0, grid_ = 0;
  size_t shared_bytes_ = 0, declared_bytes_ = 0;
  std::vector<std::pair<const char*, size_t>> shared_arrays_; // of the kernel
  uint32_t launch_ = 0, running_ = 0;
  uint64_t id_ = 0, random_ = 1;
  LargeArray large_{};
  Beside beside_;
};

} // namespace quern::gpu
