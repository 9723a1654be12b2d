// Replays of a captured plan that follow one another without a look from outside (PlanChain in core/src/driver.ts).
#pragma once
#include <stdint.h>

#include <span>
#include <vector>

#include "quern/plan.h"

namespace quern {

class Chain {
 public:
  // `places`: words of the output, its byte offset in the outputs, the byte offset in the inputs where they go, then byte
  // offset and words of each input that grows. `results` has room for the output of every replay. Throws BAD_ARGUMENT
  // where a word would lie outside its memory.
  Chain(std::span<const double> places, const HostMemory& host, std::span<int32_t> results);

  // Calls `replay` up to `count` times, or until it leaves a word that is among `stops`; gives how often. Throws
  // BAD_ARGUMENT where there is no room for the results.
  template <class Replay>
  int64_t run(int64_t count, std::span<const int32_t> stops, const Replay& replay) {
    need_room(count);
    for (int64_t done = 1;; done++) {
      replay();
      keep(done - 1);
      if (done == count || stopped(done - 1, stops)) return done;
      advance(done - 1);
    }
  }

 private:
  std::span<int32_t> result(int64_t replay) const { return results_.subspan(replay * output_.size(), output_.size()); }
  void need_room(int64_t count) const;
  void keep(int64_t replay);
  bool stopped(int64_t replay, std::span<const int32_t> stops) const;
  void advance(int64_t replay);

  std::span<const int32_t> output_;
  std::span<int32_t> feed_;
  std::vector<std::span<int32_t>> growing_;
  std::span<int32_t> results_;
};

} // namespace quern
