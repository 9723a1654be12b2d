// A thread of the emulated device.
#pragma once
#include <stdint.h>

#include <functional>
#include <memory>
#include <vector>

#include "emulated/fibre.h"

namespace quern::gpu {

inline constexpr int WARP = 32, WARPGROUP = 128;

// Why a thread waits.
enum class Wait { none, barrier, warp_barrier, shuffle, instruction, warpgroup, phase };

// When a thread does something, for the order of accesses: barriers of the block, and of its warp since then. Shuffles order nothing.
struct Moment {
  uint32_t block = 0, warp = 0;
};

struct Thread {
  int index = 0;
  bool ended = true;
  bool waited = false; // for launches before
  Wait wait = Wait::none;
  Moment now;
  float shared_value = 0; // given to a shuffle
  const void* shown = nullptr; // to the lanes of its warp
  const void* instruction = nullptr; // for which it is shown
  std::vector<std::function<void()>> copies; // asynchronous copies that have not landed, by group
  std::vector<size_t> groups;                // copies of each committed group
  int fences = 0; // between its writes and copies of tensors
  std::vector<uint32_t> seen;     // phases of each barrier that it has waited for
  unsigned barrier = 0;           // that it waits for
  int parity = 0;                 // of the phase
  float* sums = nullptr;          // of a product of its warpgroup
  const std::function<void()>* last = nullptr; // what its warpgroup does when all are there
  std::unique_ptr<Fibre> fibre;
};

} // namespace quern::gpu
