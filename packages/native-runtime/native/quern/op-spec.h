// The op table's types; the table itself is generated (generated/ops.h).
#pragma once
#include <stdint.h>

namespace quern {

class Call; // of a driver that computes op by op, where it defines the `run` of each op

enum class OperandKind { tensor, weight, buffer };

struct OperandSpec {
  const char* name;
  OperandKind kind;
  bool optional;
  bool written;
};

inline constexpr int max_operands = 10;

struct OpSpec {
  int32_t opcode;
  const char* name;
  int32_t attributes; // how many
  int32_t inputs;     // operands that are not outputs
  int32_t operands;   // with the outputs, which come last
  OperandSpec operand[max_operands];
};

} // namespace quern
