// Types of the op table; the table is generated (generated/ops.h).
#pragma once
#include <stdint.h>

namespace quern {

class Call; // for a driver that computes op by op: defined by the driver, argument of each op's `run`

enum class OperandKind { tensor, weight, buffer };

struct OperandSpec {
  const char* name;
  OperandKind kind;
  bool optional;
  bool written;
  bool claimed = false; // joined the op later: older plans lack it
};

inline constexpr int max_operands = 10;

struct OpSpec {
  int32_t opcode;
  const char* name;
  int32_t attributes; // number of attributes
  int32_t inputs;     // number of operands without outputs
  int32_t operands;   // number of operands with outputs; outputs come last
  OperandSpec operand[max_operands];
};

} // namespace quern
