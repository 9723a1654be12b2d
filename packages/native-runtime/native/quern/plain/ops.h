// The core ops in plain C++, on the host, sums in double precision: for ops that a driver does not implement. Weights are
// PlainWeight; all addresses are host addresses. Each op throws BAD_ARGUMENT if a plan breaks its shape rule, and
// OUT_OF_RANGE as core's definition of the op.
#pragma once
#include "quern/op-view.h"

namespace quern::plain {

#define DECLARE(Op, name) void name(const OpView& op);
QUERN_CORE_OPS(DECLARE)
#undef DECLARE

using PlainOp = void (*)(const OpView& op);
// The op of a row of op_table. Throws UNSUPPORTED for fused ops: they have no plain form.
PlainOp find_op(const OpSpec& spec);

} // namespace quern::plain
