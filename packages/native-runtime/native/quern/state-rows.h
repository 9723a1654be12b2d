// The sequences of a batch of ops that keep a state of fixed size per sequence: core's ops/states.ts.
#pragma once
#include "quern/op-view.h"

namespace quern {

struct StateRows {
  int64_t first, end;
  int32_t from, to; // slots; from −1: zeros, to −1: nowhere
};

// cuSeqlens [S + 1] and states [S, 2] of a batch of T rows, checked.
class StateBatch {
 public:
  // `state`: an f32 buffer [slots, 1, heads, width]. Throws OUT_OF_RANGE; BAD_ARGUMENT for shapes that the op's rule forbids.
  StateBatch(const OpView& op, int cu_seqlens, int states, int state, int64_t T, int64_t heads, int64_t width)
      : bounds_(op.ints(cu_seqlens)), states_(op.ints(states)), count(states_.count / 2) {
    const Operand& buffer = op.operand(state);
    op.need(buffer.rank == 4 && buffer.dtype == DType::f32 && buffer.shape[1] == 1 && buffer.shape[2] == heads && buffer.shape[3] == width,
            "the state must be f32 [slots, 1, heads, width]");
    op.need(states_.count % 2 == 0 && bounds_.count == count + 1, "states must be [S, 2], cuSeqlens [S + 1]");
    const int64_t slots = buffer.shape[0];
    if (bounds_[0] != 0 || bounds_[count] != T)
      op.out_of_range("cuSeqlens must run from 0 to %lld (rows); got %d to %d", (long long)T, bounds_[0], bounds_[count]);
    for (int64_t s = 0; s < count; s++) {
      if (bounds_[s + 1] < bounds_[s])
        op.out_of_range("cuSeqlens falls at %lld: %d to %d", (long long)s, bounds_[s], bounds_[s + 1]);
      for (int64_t i = 2 * s; i < 2 * s + 2; i++)
        if (states_[i] < -1 || states_[i] >= slots)
          op.out_of_range("states[%lld] has slot %d, but there are %lld slots", (long long)s, states_[i], (long long)slots);
    }
  }

  StateRows operator[](int64_t s) const { return {bounds_[s], bounds_[s + 1], states_[2 * s], states_[2 * s + 1]}; }

 private:
  Ints bounds_, states_;

 public:
  const int64_t count; // S
};

} // namespace quern
