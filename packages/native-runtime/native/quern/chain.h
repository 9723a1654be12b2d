// Replays of a captured plan, one after another, without JavaScript in between (PlanChain in core/src/driver.ts).
#pragma once
#include <stdint.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
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

  // Next cache slot of a row: in the inputs.
  struct Slots {
    std::span<int32_t> slots;
    std::span<const int32_t> positions, table; // [S], [S, B]
    int32_t block_size;
  };

  // For devices that compute the update themselves.
  int64_t rows() const { return static_cast<int64_t>(output_.size()); }
  int64_t most() const { return most_; }
  std::span<int32_t> output() const { return output_; }
  std::span<int32_t> feed() const { return feed_; }
  const std::vector<std::span<int32_t>>& growing() const { return growing_; }
  const std::optional<Slots>& slots() const { return slots_; }
  std::span<const int32_t> counts() const { return counts_; }
  bool has_ended(size_t row) const { return ended_[row]; }

  // `heard(done)` is called in `run` once `results` and `counts` have the tokens of `done` replays and others follow; it must not
  // wait. Empty: nobody listens.
  void listen(std::function<void(int64_t done)> heard) { heard_ = std::move(heard); }

  // Calls `replay` until every row has ended: a token is in `stops`, the row has `limits[row]` tokens, or `results` is
  // full; or until `replay` returns false: its tokens do not count. Returns the number of replays. `limits` [S] is memory
  // that JavaScript may write during the run. Throws OUT_OF_RANGE for a position beyond a row's blocks.
  template <class Replay>
  int64_t run(const int32_t* limits, std::span<const int32_t> stops, const Replay& replay) {
    std::fill(ended_.begin(), ended_.end(), false);
    for (int64_t done = 1;; done++) {
      if (!replay() || !keep(done, limits, stops)) return done;
      if (heard_) heard_(done);
      advance();
    }
  }

 private:
  // Stores the tokens of replay `done`. Returns whether any row continues.
  bool keep(int64_t done, const int32_t* limits, std::span<const int32_t> stops);
  void advance();
  void set_slot(size_t row);

  std::span<int32_t> output_, feed_;
  std::vector<std::span<int32_t>> growing_;
  std::optional<Slots> slots_;
  std::span<int32_t> results_, counts_;
  std::vector<bool> ended_;
  std::function<void(int64_t)> heard_;
  int64_t most_;
};

} // namespace quern
