// Sequences of a batch that keep a state of fixed size each.
#pragma once
#include "block-sum.h"
#include "fault-code.h"

namespace quern {
namespace gpu {

struct StateBatch {
  Global<const int> bounds; // [sequences + 1]; cuSeqlens
  Global<const int> slots;  // [sequences, 2]: the slot to read, −1: zeros; the slot to write, −1: none
  Global<float> state;      // [slot_count, size of a state]
  int rows, sequences, slot_count;
  Global<int> fault; // [2]
  int op;
};

// Rows [first, end) of a sequence, and its slots.
struct StateRows {
  int first, end, from, to;
};

FUNCTION StateRows rows_of_sequence(ARGUMENTS const StateBatch& batch, int s) {
  return {batch.bounds[s], batch.bounds[s + 1], batch.slots[2 * s], batch.slots[2 * s + 1]};
}

FUNCTION bool is_slot(int slot, int slot_count) { return slot >= -1 && slot < slot_count; }

// Whether bounds rise from 0 to `rows` and slots are there, in all sequences: what is wrong in one of them would reach others. Otherwise
// the fault is set, and nothing may be written. Each warp looks by itself.
FUNCTION bool batch_fits(ARGUMENTS const StateBatch& batch) {
  float wrong = batch.bounds[0] != 0 || batch.bounds[batch.sequences] != batch.rows ? 1.0f : 0.0f;
  for (int s = lane(); s < batch.sequences; s += WARP) {
    const StateRows of = rows_of_sequence(batch, s);
    const bool fits = of.first <= of.end && is_slot(of.from, batch.slot_count) && is_slot(of.to, batch.slot_count);
    wrong += fits ? 0.0f : 1.0f;
  }
  if (warp_sum(wrong) == 0) return true;
  if (thread_index() == 0) flag(batch.fault, batch.op, OUT_OF_RANGE);
  return false;
}

} // namespace gpu
} // namespace quern
