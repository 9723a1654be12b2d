// Accesses of device memory that nothing orders: of two blocks of one launch, or of two threads of a block without a barrier
// between them. The last accesses of every word are kept; of every byte in words that a launch uses in parts.
#pragma once
#include <stdint.h>

namespace quern::gpu {

enum class Act : uint8_t { read, write, atomic };

class Races {
 public:
  // An access, with those of the same kind before it.
  struct Access {
    uint32_t launch = 0, block = 0, barriers = 0; // barriers: of the block before the access
    uint16_t warp_barriers = 0;
    uint16_t thread : 10 = 0;
    uint16_t several_warps : 1 = 0;  // had access since that barrier
    uint16_t several_blocks : 1 = 0; // had access in this launch
    uint16_t atomic : 1 = 0;
    uint16_t in_parts : 1 = 0; // the bytes of the word have their own
  };

  // For addresses 0 to `bytes`.
  explicit Races(uint64_t bytes);
  ~Races();
  Races(const Races&) = delete;

  // The present thread's access to `bytes` from `at` on. An earlier access that it may overlap, or null.
  const Access* record(Act act, uint64_t at, uint64_t bytes);
  // Whether launch `running`, or one between it and the present launch, had access that `act` must come after.
  bool is_of_running(Act act, uint64_t at, uint64_t bytes, uint32_t running) const;

 private:
  struct History {
    Access read, write;
    const Access* add(Act act, const Access& now);
  };
  History* parts_of(uint64_t word, const Access& now);
  History known_of(uint64_t byte) const;

  const uint64_t bytes_;
  History *words_, *parts_;
};

} // namespace quern::gpu
