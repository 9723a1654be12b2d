// Slots of a state buffer: states of sequences, f32.
#pragma once
#include "quern/state-rows.h"
#include "runtime/call.h"

namespace quern {

// The state [heads, width] in a slot; null: none (−1).
inline float* state_slot(const Call& call, int index, int32_t slot) {
  const Operand& state = call.operand(index);
  return slot < 0 ? nullptr : reinterpret_cast<float*>(state.data) + slot * state.shape[2] * state.shape[3];
}

} // namespace quern
