// Replays of a captured plan, one after another, without JavaScript in between (PlanChain in core/src/driver.ts).
#pragma once
#include <stdint.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "quern/plan.h"

namespace quern {

class Chain {
 public:
  // `places`, offsets in bytes: S; offset of the output in the outputs. Then, offsets in the inputs: feed; number G of
  // growing words per row; G offsets. Optional, if slots follow positions: blocks per row; block size; offsets of slots,
  // positions, block table. A run fills `results` [most, S] and `counts` [S]. Throws BAD_ARGUMENT if a word lies outside
  // its memory.
  Chain(std::span<const double> places, const HostMemory& host, std::span<int32_t> results, std::span<int32_t> counts);

  int64_t rows() const { return static_cast<int64_t>(output_.size()); }

  // Calls `replay` until every row has ended: a token is in `stops`, the row has `limits[row]` tokens, or `results` is
  // full. Returns the number of replays. `limits` [S] is memory that JavaScript may write during the run. Throws
  // OUT_OF_RANGE for a position beyond a row's blocks.
  template <class Replay>
  int64_t run(const int32_t* limits, std::span<const int32_t> stops, const Replay& replay) {
    std::fill(ended_.begin(), ended_.end(), false);
    for (int64_t done = 1;; done++) {
      replay();
      if (!keep(done, limits, stops)) return done;
      advance();
    }
  }

 private:
  struct Slots {
    std::span<int32_t> slots;
    std::span<const int32_t> positions, table; // [S], [S, B]
    int32_t block_size;
  };
  // Stores the tokens of replay `done`. Returns whether any row continues.
  bool keep(int64_t done, const int32_t* limits, std::span<const int32_t> stops);
  void advance();
  void set_slot(size_t row);

  std::span<const int32_t> output_;
  std::span<int32_t> feed_;
  std::vector<std::span<int32_t>> growing_;
  std::optional<Slots> slots_;
  std::span<int32_t> results_, counts_;
  std::vector<bool> ended_;
  int64_t most_;
};

} // namespace quern
