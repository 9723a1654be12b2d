// Slots of a state buffer, in plain memory.
#pragma once
#include <vector>

#include "quern/state-rows.h"

namespace quern::plain {

inline float* state_slot(const OpView& op, int index, int32_t slot) {
  const Operand& state = op.operand(index);
  return reinterpret_cast<float*>(state.data) + slot * state.shape[2] * state.shape[3];
}

// A copy of the state that the sequence reads.
inline std::vector<float> read_state(const OpView& op, int index, const StateRows& rows) {
  const int64_t size = op.operand(index).shape[2] * op.operand(index).shape[3];
  std::vector<float> values(size);
  if (rows.from >= 0) std::copy_n(state_slot(op, index, rows.from), size, values.begin());
  return values;
}

inline void write_state(const OpView& op, int index, const StateRows& rows, const float* values) {
  const int64_t size = op.operand(index).shape[2] * op.operand(index).shape[3];
  if (rows.to >= 0) std::copy_n(values, size, state_slot(op, index, rows.to));
}

} // namespace quern::plain
