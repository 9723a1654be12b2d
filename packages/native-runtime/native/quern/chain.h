// Replays of a captured plan that follow one another without a look from outside (PlanChain in core/src/driver.ts).
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
  // `places`, offsets in bytes: S, offset of the output in the outputs; in the inputs: offset of the feed, how many words grow per
  // row and the offset of each, and, where slots follow positions: offsets of slots, positions and block table, its blocks per
  // row, and the block size. `results` [most, S] and `counts` [S] are what a run leaves. Throws BAD_ARGUMENT where a word would
  // lie outside its memory.
  Chain(std::span<const double> places, const HostMemory& host, std::span<int32_t> results, std::span<int32_t> counts);

  int64_t rows() const { return static_cast<int64_t>(output_.size()); }

  // Calls `replay` until every row has ended: with a token among `stops`, with as many tokens as its limit, or with no room for
  // results; at once where `replay` gives false: its tokens do not count. Gives how often. `limits` [S] lies in memory that JavaScript may write meanwhile. Throws OUT_OF_RANGE for a position
  // beyond a row's blocks.
  template <class Replay>
  int64_t run(const int32_t* limits, std::span<const int32_t> stops, const Replay& replay) {
    std::fill(ended_.begin(), ended_.end(), false);
    for (int64_t done = 1;; done++) {
      if (!replay() || !keep(done, limits, stops)) return done;
      advance();
    }
  }

 private:
  struct Slots {
    std::span<int32_t> slots;
    std::span<const int32_t> positions, table; // [S], [S, B]
    int32_t block_size;
  };
  // Keeps the tokens of replay number `done`; whether a row goes on.
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
